//===- TeRun.cpp - programs through te-run --------------------------------===//
//
// Part of te-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TeRun.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;
using namespace te::testing;

namespace {
/// A temporary folder, removed at the end.
struct Folder {
  Folder() { sys::fs::createUniqueDirectory("te-run", path); }
  ~Folder() { sys::fs::remove_directories(path); }

  std::string get(StringRef name) const {
    SmallString<128> file(path);
    sys::path::append(file, name);
    return std::string(file);
  }

  void write(StringRef name, StringRef data) const {
    std::error_code error;
    raw_fd_ostream os(get(name), error);
    os << data;
  }

  Bytes read(StringRef name) const {
    auto buffer = MemoryBuffer::getFile(get(name), /*IsText=*/false,
                                        /*RequiresNullTerminator=*/false);
    if (!buffer)
      return {};
    return Bytes((*buffer)->getBufferStart(), (*buffer)->getBufferEnd());
  }

  SmallString<128> path;
};
} // namespace

Expected<std::vector<Output>> te::testing::runModule(StringRef module,
                                                     ArrayRef<Input> inputs,
                                                     StringRef chip) {
  Folder folder;
  folder.write("module.mlir", module);
  std::vector<std::string> arguments = {TE_RUN,
                                        folder.get("module.mlir"),
                                        "--entry=main",
                                        "--target=emulate",
                                        ("--chip=" + chip).str(),
                                        "--output-dir",
                                        folder.get("out")};
  for (auto [index, input] : enumerate(inputs)) {
    std::string name = "x" + std::to_string(index);
    folder.write(name, toStringRef(input.bytes));
    arguments.push_back("--input");
    arguments.push_back(folder.get(name) +
                        (input.shape.empty() ? "" : ":" + input.shape));
  }
  std::vector<StringRef> command(arguments.begin(), arguments.end());
  std::string log = folder.get("log");
  std::optional<StringRef> redirects[] = {StringRef(""), StringRef(log),
                                          StringRef(log)};
  if (sys::ExecuteAndWait(TE_RUN, command, std::nullopt, redirects))
    return createStringError("te-run failed: " +
                             toStringRef(folder.read("log")));

  Bytes text = folder.read("out/manifest.json");
  Expected<json::Value> manifest = json::parse(toStringRef(text));
  if (!manifest)
    return manifest.takeError();
  std::vector<Output> outputs;
  for (const json::Value &row : *manifest->getAsArray()) {
    const json::Object &entry = *row.getAsObject();
    Output &output = outputs.emplace_back();
    output.result = *entry.getInteger("result");
    output.name = entry.getString("name")->str();
    for (const json::Value &size : *entry.getArray("shape"))
      output.shape.push_back(*size.getAsInteger());
    output.dtype = entry.getString("dtype")->str();
    output.bytes = folder.read("out/" + entry.getString("file")->str());
  }
  return outputs;
}
