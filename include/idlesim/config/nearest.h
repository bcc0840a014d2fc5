// "Did you mean ...?"
#ifndef IDLESIM_CONFIG_NEAREST_H_
#define IDLESIM_CONFIG_NEAREST_H_

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace idlesim::config {

// Insertions, deletions, replacements and swaps of neighbours that turn `a` into `b`.
int edit_distance(std::string_view a, std::string_view b);

// The candidate most like `word`, the first of equals; empty if none is near: at most 3 edits, and
// at most one for each 3 characters of the word, but 1 is near to any word of 2 or more.
std::string nearest(std::string_view word, std::span<const std::string_view> candidates);
std::string nearest(std::string_view word, const std::vector<std::string>& candidates);

// `; did you mean "x"?` or nothing, to be put behind an error message.
std::string did_you_mean(std::string_view word, std::span<const std::string_view> candidates);

}  // namespace idlesim::config

#endif  // IDLESIM_CONFIG_NEAREST_H_
