// Compiled kernels, kept on disk.
#pragma once

#include <filesystem>
#include <string>

namespace openreg::cuda {

/// The folder that this user's programs write to: $XDG_CACHE_HOME/openreg, else ~/.cache/openreg.
std::filesystem::path ownCache();

/// Code that is kept, and where; both are empty if there is none.
struct Kept {
  std::string code;
  std::filesystem::path file;
};

/// Looks in a folder for the file `name`.
Kept findIn(const std::filesystem::path& folder, const std::string& name);

/// Looks in the own folder, then in the one that somebody has filled for many: $OPENREG_CUDA_CACHE, which is only read.
/// In this order what is of no use there can be replaced here.
Kept findKept(const std::string& name);

/// Writes a file, so that who reads meanwhile finds all of it or nothing.
/// @return Why it couldn't; empty if it could.
std::string keep(const std::filesystem::path& folder, const std::string& name, const std::string& code);

} // namespace openreg::cuda
