//===- OutputDirectory.cpp - files that appear together or not at all -----===//
//
// Part of te-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "OutputDirectory.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Signals.h"

using namespace llvm;
using namespace te::run;

static Error makeError(StringRef action, StringRef path,
                       std::error_code error) {
  return createStringError("cannot " + action + " '" + path +
                           "': " + error.message());
}

Error te::run::checkOutputDirectory(StringRef path) {
  sys::fs::file_status status;
  if (!sys::fs::status(path, status) && sys::fs::exists(status) &&
      !sys::fs::is_directory(status))
    return createStringError("expected --output-dir to name a directory, but "
                             "'" +
                             path + "' is a file");
  return Error::success();
}

OutputDirectory::~OutputDirectory() { discard(); }

Error OutputDirectory::create() {
  if (Error error = checkOutputDirectory(path))
    return error;
  SmallVector<std::string> missing;
  for (StringRef parent = path; !parent.empty() && !sys::fs::exists(parent);
       parent = sys::path::parent_path(parent))
    missing.push_back(parent.str());
  for (const std::string &directory : reverse(missing)) {
    if (std::error_code error = sys::fs::create_directory(
            directory, /*IgnoreExisting=*/true, sys::fs::all_all))
      return makeError("create", directory, error);
    createdDirectories.push_back(directory);
  }
  return Error::success();
}

Error OutputDirectory::addFile(StringRef name,
                               llvm::function_ref<Error(raw_ostream &)> write) {
  SmallString<128> final(path), temporary;
  sys::path::append(final, name);
  int descriptor;
  if (std::error_code error = sys::fs::createUniqueFile(
          path + "/.te-run-%%%%%%%%", descriptor, temporary))
    return makeError("create a file in", path, error);
  files.push_back({temporary.str().str(), final.str().str()});
  sys::RemoveFileOnSignal(temporary);

  raw_fd_ostream stream(descriptor, /*shouldClose=*/true);
  Error error = write(stream);
  stream.close();
  if (stream.has_error()) {
    std::error_code failure = stream.error();
    stream.clear_error();
    if (!error)
      return makeError("write", final, failure);
  }
  return error;
}

Error OutputDirectory::commit() {
  for (const File &file : files)
    if (sys::fs::is_directory(file.final))
      return createStringError("cannot write '" + file.final +
                               "': a directory has that name");
  if (std::error_code error = sys::fs::remove(files.back().final))
    return makeError("replace", files.back().final, error);
  for (File &file : files) {
    if (std::error_code error = sys::fs::rename(file.temporary, file.final))
      return makeError("write", file.final, error);
    sys::DontRemoveFileOnSignal(file.temporary);
    // What has its name already goes with the rest if a later one fails.
    file.temporary = file.final;
  }
  files.clear();
  createdDirectories.clear();
  return Error::success();
}

void OutputDirectory::discard() {
  for (const File &file : files) {
    sys::fs::remove(file.temporary);
    sys::DontRemoveFileOnSignal(file.temporary);
  }
  files.clear();
  for (const std::string &directory : reverse(createdDirectories))
    sys::fs::remove(directory);
  createdDirectories.clear();
}
