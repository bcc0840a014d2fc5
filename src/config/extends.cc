// Files that extend others.
#include <algorithm>
#include <filesystem>
#include <utility>

#include "idlesim/config/document.h"
#include "idlesim/config/findings.h"
#include "idlesim/config/nearest.h"
#include "node.h"

namespace idlesim::config {
namespace {

namespace fs = std::filesystem;

// Parameters are replaced whole: a value with the source or the range of another would be a lie.
bool merges(const Node& base, const Node& derived) {
  return base.kind == Kind::kObject && derived.kind == Kind::kObject &&
         base.find("value") == nullptr && derived.find("value") == nullptr;
}

// Lays `derived` over `base`. Recursion is bounded by the depth limit of the parser.
void merge(Node& base, Node& derived) {
  base.at = derived.at;
  base.key_at = derived.key_at;
  for (auto& child : derived.children) {
    Node* below = base.find(child->key);
    if (below == nullptr)
      base.add(std::move(child));
    else if (merges(*below, *child))
      merge(*below, *child);
    else
      base.replace(*below, std::move(child));
  }
}

// Other files of the directory that `path` might have meant, without their extension.
std::vector<std::string> neighbours(const fs::path& path) {
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator it(path.parent_path().empty() ? "." : path.parent_path(), error), end;
       !error && it != end; it.increment(error))
    if (it->path().extension() == path.extension()) names.push_back(it->path().stem().string());
  std::sort(names.begin(), names.end());
  return names;
}

// Follows the chain from a file to the last base.
class Chain {
 public:
  Chain(State& state, const ExtendsResolver& resolver) : state_(state), resolver_(resolver) {}

  void load(const std::string& path) {
    std::optional<std::string> next = path;
    while (next) {
      std::unique_ptr<Node> node = parse(*next);
      const std::unique_ptr<Node> extends = node->take("extends");
      if (state_.root == nullptr) {
        state_.root = std::move(node);
      } else if (node->kind == Kind::kObject) {
        merge(*node, *state_.root);
        state_.root = std::move(node);
      } else {
        state_.fail(*node, "expected an object to extend, found " + std::string(node->kind_name()));
        state_.throw_findings();
      }
      next.reset();
      if (extends != nullptr) next = base_of(*extends, state_.files.back());
    }
  }

 private:
  std::unique_ptr<Node> parse(const std::string& path) {
    const int file = add_file(state_, path);
    canonical_.push_back(canonical(path));
    std::string text;
    std::unique_ptr<Node> node;
    if (read_file_into(state_, file, text)) node = parse_into(state_, file, text);
    if (node == nullptr) state_.throw_findings();
    return node;
  }

  // Without its base a file would only produce errors about keys that the base has: stop there.
  [[noreturn]] void refuse(const Node& extends, const std::string& message) {
    state_.fail(extends.at, "/extends", message);
    state_.throw_findings();
  }

  std::string base_of(const Node& extends, const std::string& from) {
    if (extends.kind != Kind::kString)
      refuse(extends, "expected a string, found " + std::string(extends.kind_name()));
    const std::string base = resolver_(extends.text, from);
    const std::string shown = "\"" + printable(base, 400) + "\"";
    std::error_code error;
    if (!fs::exists(base, error)) {
      const std::vector<std::string> names = neighbours(base);
      const std::vector<std::string_view> views(names.begin(), names.end());
      refuse(extends, "there is no file " + shown + did_you_mean(extends.text, views));
    }
    const auto known = std::find(canonical_.begin(), canonical_.end(), canonical(base));
    if (known == canonical_.end()) return base;
    std::string cycle;
    for (auto at = known; at != canonical_.end(); ++at)
      cycle +=
          printable(state_.files[static_cast<std::size_t>(at - canonical_.begin())], 400) + " -> ";
    const auto first = static_cast<std::size_t>(known - canonical_.begin());
    refuse(extends, "files extend each other: " + cycle + printable(state_.files[first], 400));
  }

  static std::string canonical(const std::string& path) {
    std::error_code error;
    const fs::path canonical = fs::weakly_canonical(path, error);
    return error ? path : canonical.string();
  }

  State& state_;
  const ExtendsResolver& resolver_;
  std::vector<std::string> canonical_;  // of state_.files
};

}  // namespace

std::string sibling_file(const std::string& name, const std::string& from_path) {
  return (fs::path(from_path).parent_path() / (name + ".json")).string();
}

Document load_with_extends(const std::string& path, const ExtendsResolver& resolver) {
  auto state = std::make_unique<State>();
  Chain(*state, resolver).load(path);
  return Document(std::move(state));
}

}  // namespace idlesim::config
