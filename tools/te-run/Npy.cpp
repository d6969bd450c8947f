//===- Npy.cpp - the header of numpy's array files ------------------------===//
//
// Part of te-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The header is a Python dictionary literal with three keys. Only what numpy
// itself writes is understood; everything else is an error, never a guess.
//
//===----------------------------------------------------------------------===//

#include "Npy.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/FormatVariadic.h"
#include <optional>

using namespace llvm;
using namespace te::run;

static Error makeError(const Twine &message) {
  return createStringError("not a .npy file that can be read: " + message);
}

namespace {

/// Reads the dictionary from left to right.
class HeaderParser {
public:
  explicit HeaderParser(StringRef text) : text(text) {}

  Error parse(NpyHeader &header);

private:
  /// Skips spaces, then `token` if it comes next.
  bool consume(StringRef token) {
    text = text.ltrim(" \t\n");
    return text.consume_front(token);
  }
  Error expect(StringRef token) {
    if (consume(token))
      return Error::success();
    return makeError("expected '" + token + "' in the header, but got '" +
                     text.take_front(16) + "'");
  }
  std::optional<StringRef> parseString();
  Error parseShape(SmallVectorImpl<int64_t> &shape);

  StringRef text;
};

} // namespace

std::optional<StringRef> HeaderParser::parseString() {
  text = text.ltrim(" \t\n");
  if (text.empty() || (text[0] != '\'' && text[0] != '"'))
    return std::nullopt;
  size_t end = text.find(text[0], 1);
  if (end == StringRef::npos)
    return std::nullopt;
  StringRef value = text.slice(1, end);
  text = text.drop_front(end + 1);
  return value;
}

Error HeaderParser::parseShape(SmallVectorImpl<int64_t> &shape) {
  if (Error error = expect("("))
    return error;
  while (!consume(")")) {
    int64_t size;
    text = text.ltrim(" \t\n");
    if (text.consumeInteger(10, size) || size < 0)
      return makeError("expected a size in the shape, but got '" +
                       text.take_front(16) + "'");
    // Python 2 wrote long integers.
    consume("L");
    shape.push_back(size);
    if (consume(","))
      continue;
    if (Error error = expect(")"))
      return error;
    break;
  }
  return Error::success();
}

Error HeaderParser::parse(NpyHeader &header) {
  bool hasDescr = false, hasOrder = false, hasShape = false;
  if (Error error = expect("{"))
    return error;
  while (!consume("}")) {
    std::optional<StringRef> key = parseString();
    if (!key)
      return makeError("expected a key in the header, but got '" +
                       text.take_front(16) + "'");
    if (Error error = expect(":"))
      return error;
    if (*key == "descr") {
      std::optional<StringRef> descr = parseString();
      if (!descr)
        return makeError("expected one dtype, but got the structured dtype '" +
                         text.take_until([](char c) { return c == ']'; }) +
                         "]'");
      header.descr = descr->str();
      hasDescr = true;
    } else if (*key == "fortran_order") {
      header.isFortranOrder = consume("True");
      if (!header.isFortranOrder)
        if (Error error = expect("False"))
          return error;
      hasOrder = true;
    } else if (*key == "shape") {
      header.shape.clear();
      if (Error error = parseShape(header.shape))
        return error;
      hasShape = true;
    } else {
      return makeError("unknown key '" + *key + "' in the header");
    }
    if (consume(","))
      continue;
    if (Error error = expect("}"))
      return error;
    break;
  }
  if (!hasDescr || !hasOrder || !hasShape)
    return makeError("expected 'descr', 'fortran_order' and 'shape' in the "
                     "header");
  return Error::success();
}

Expected<NpyHeader> te::run::parseNpyHeader(StringRef contents) {
  StringRef rest = contents;
  if (!rest.consume_front("\x93NUMPY") || rest.size() < 2)
    return makeError("it does not start with numpy's signature");
  unsigned major = static_cast<uint8_t>(rest[0]);
  unsigned minor = static_cast<uint8_t>(rest[1]);
  if (major < 1 || major > 3)
    return makeError(formatv("expected format version 1, 2 or 3, but got "
                             "{0}.{1}",
                             major, minor));
  rest = rest.drop_front(2);

  size_t lengthBytes = major == 1 ? 2 : 4;
  if (rest.size() < lengthBytes)
    return makeError("it ends in the header");
  size_t length = major == 1 ? support::endian::read16le(rest.data())
                             : support::endian::read32le(rest.data());
  rest = rest.drop_front(lengthBytes);
  if (rest.size() < length)
    return makeError("it ends in the header");

  NpyHeader header;
  header.dataOffset = contents.size() - rest.size() + length;
  if (Error error = HeaderParser(rest.take_front(length)).parse(header))
    return error;
  return header;
}

Expected<NpyDtype> te::run::parseNpyDtype(StringRef descr) {
  unsigned namedSize =
      llvm::StringSwitch<unsigned>(descr)
          .Case("bfloat16", 2)
          .Cases({"float8_e4m3fn", "float8_e5m2", "float8_e8m0fnu",
                  "float8_e4m3", "float8_e4m3fnuz", "float8_e5m2fnuz"},
                 1)
          .Default(0);
  if (namedSize)
    return NpyDtype{'V', namedSize, false};

  NpyDtype dtype = {};
  StringRef rest = descr;
  if (!rest.empty() && StringRef("<>|=").contains(rest[0])) {
    dtype.isBigEndian = rest[0] == '>';
    rest = rest.drop_front();
  }
  if (rest.empty() || !isAlpha(rest[0]) ||
      rest.drop_front().getAsInteger(10, dtype.sizeInBytes))
    return createStringError("unknown numpy dtype '" + descr + "'");
  dtype.kind = rest[0];
  return dtype;
}
