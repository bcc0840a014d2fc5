// SHA-256, for resolved documents and result digests.
#ifndef IDLESIM_CONFIG_DIGEST_H_
#define IDLESIM_CONFIG_DIGEST_H_

#include <string>
#include <string_view>

namespace idlesim::config {

// 64 lower-case hexadecimal digits.
std::string sha256_hex(std::string_view bytes);

}  // namespace idlesim::config

#endif  // IDLESIM_CONFIG_DIGEST_H_
