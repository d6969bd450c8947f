//===- OutputDirectory.h - files that appear together or not at all -------===//
//
// Part of te-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TE_RUN_OUTPUTDIRECTORY_H
#define TE_RUN_OUTPUTDIRECTORY_H

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/raw_ostream.h"
#include <string>

namespace te::run {

/// Writes files under temporary names and gives them their own when all are
/// complete. Without a commit the directory is as it was before, and gone if it
/// was not there.
class OutputDirectory {
public:
  explicit OutputDirectory(llvm::StringRef path) : path(path) {}
  OutputDirectory(const OutputDirectory &) = delete;
  OutputDirectory &operator=(const OutputDirectory &) = delete;
  ~OutputDirectory();

  /// Creates the directory and its parents where they are missing.
  llvm::Error create();

  /// Writes one file; `write` fills it.
  llvm::Error
  addFile(llvm::StringRef name,
          llvm::function_ref<llvm::Error(llvm::raw_ostream &)> write);

  /// Renames all files, in the order in which they were added. An older file
  /// with the last name is removed first, so that the last file, if it is
  /// there, always describes the others.
  llvm::Error commit();

private:
  struct File {
    std::string temporary;
    std::string final;
  };

  void discard();

  std::string path;
  llvm::SmallVector<File> files;
  /// The directories that did not exist before, outermost first.
  llvm::SmallVector<std::string> createdDirectories;
};

/// Returns an error if `path` cannot become the output directory because
/// something else has the name. Creates nothing.
llvm::Error checkOutputDirectory(llvm::StringRef path);

} // namespace te::run

#endif // TE_RUN_OUTPUTDIRECTORY_H
