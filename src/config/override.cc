// Document::override_value: `--set` and the runs that vary a parameter over its range.
#include <algorithm>
#include <charconv>
#include <utility>

#include "idlesim/config/document.h"
#include "idlesim/config/findings.h"
#include "idlesim/config/nearest.h"
#include "node.h"

namespace idlesim::config {
namespace {

// Tokens of "/core/idle~1states/0" or "core.states.0".
std::vector<std::string> path_tokens(std::string_view where) {
  std::vector<std::string> tokens;
  const bool is_pointer = where.starts_with('/');
  if (is_pointer) where.remove_prefix(1);
  const char separator = is_pointer ? '/' : '.';
  tokens.emplace_back();
  for (std::size_t i = 0; i < where.size(); ++i) {
    if (where[i] == separator) {
      tokens.emplace_back();
    } else if (is_pointer && where[i] == '~' && i + 1 < where.size() &&
               (where[i + 1] == '0' || where[i + 1] == '1')) {
      tokens.back() += where[++i] == '0' ? '~' : '/';
    } else {
      tokens.back() += where[i];
    }
  }
  return tokens;
}

Node* step(const Node& node, const std::string& token) {
  if (node.kind == Kind::kObject) return node.find(token);
  if (node.kind != Kind::kArray) return nullptr;
  std::size_t index = 0;
  const auto [end, error] = std::from_chars(token.data(), token.data() + token.size(), index);
  if (error != std::errc{} || end != token.data() + token.size()) return nullptr;
  return index < node.children.size() ? node.children[index].get() : nullptr;
}

std::string no_such_value(const Node& node, const std::string& token) {
  if (node.kind == Kind::kArray)
    return "no such value; the array has " + std::to_string(node.children.size()) + " elements";
  std::vector<std::string_view> keys;
  for (const auto& child : node.children) keys.push_back(child->key);
  return "no such value" + did_you_mean(token, keys);
}

void mark(Node& node, const Position& at) {
  node.at = node.key_at = at;
  node.overridden = true;
  for (const auto& child : node.children) mark(*child, at);
}

// The value that `text` stands for; as a string if it has to be one or is no JSON.
std::unique_ptr<Node> parse_value(std::string_view text, bool as_string, const Position& at) {
  State scratch;
  std::unique_ptr<Node> value;
  if (!as_string || text.starts_with('"')) value = parse_into(scratch, add_file(scratch, ""), text);
  if (value == nullptr || !scratch.findings.empty()) {
    value = std::make_unique<Node>();
    value->kind = Kind::kString;
    value->text = text;
  }
  mark(*value, at);
  return value;
}

}  // namespace

void Document::override_value(std::string_view where, std::string_view text, Missing missing,
                              const std::string& shown_as) {
  State& state = *state_;
  auto file = std::find(state.files.begin() + static_cast<std::ptrdiff_t>(state.documents),
                        state.files.end(), shown_as);
  if (file == state.files.end()) file = state.files.insert(file, shown_as);
  const Position at{static_cast<int>(file - state.files.begin()), 0, 0};

  const std::vector<std::string> tokens = path_tokens(where);
  Node* node = state.root.get();
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    Node* next = step(*node, tokens[i]);
    if (next == nullptr && missing == Missing::kCreate && i + 1 == tokens.size() &&
        node->kind == Kind::kObject) {
      std::unique_ptr<Node> created = parse_value(text, false, at);
      created->key = tokens[i];
      node->add(std::move(created));
      return;
    }
    if (next == nullptr) {
      state.fail(at, node->pointer() + "/" + pointer_token(tokens[i]),
                 no_such_value(*node, tokens[i]));
      return;
    }
    node = next;
  }
  if (Node* value = node->find("value"); value != nullptr && !text.starts_with('{')) node = value;

  std::unique_ptr<Node> value = parse_value(text, node->kind == Kind::kString, at);
  if (value->kind != node->kind)
    state.fail(at, node->pointer(),
               "expected " + std::string(node->kind_name()) + ", found " + value->shown());
  else
    node->parent->replace(*node, std::move(value));
}

}  // namespace idlesim::config
