// UTF-8 as far as messages and the writer need it.
#ifndef IDLESIM_SRC_CONFIG_UTF8_H_
#define IDLESIM_SRC_CONFIG_UTF8_H_

#include <cstddef>
#include <string_view>

namespace idlesim::config {

// Bytes of the character that `text` starts with; 0 if it does not start with valid UTF-8 (RFC
// 3629: no overlong forms, no surrogates, nothing above U+10FFFF).
std::size_t utf8_length(std::string_view text);

}  // namespace idlesim::config

#endif  // IDLESIM_SRC_CONFIG_UTF8_H_
