#include "idlesim/config/digest.h"

#include <openssl/evp.h>

#include <array>

#include "idlesim/base/check.h"

namespace idlesim::config {

std::string sha256_hex(std::string_view bytes) {
  std::array<unsigned char, 32> digest{};
  unsigned int size = 0;
  const int ok =
      EVP_Digest(bytes.data(), bytes.size(), digest.data(), &size, EVP_sha256(), nullptr);
  CHECK(ok == 1 && size == digest.size(), "libcrypto has no SHA-256");
  std::string hex;
  for (const unsigned char byte : digest) {
    hex += "0123456789abcdef"[byte >> 4];
    hex += "0123456789abcdef"[byte & 15];
  }
  return hex;
}

}  // namespace idlesim::config
