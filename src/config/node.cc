#include "node.h"

#include <algorithm>
#include <utility>

#include "idlesim/base/check.h"

namespace idlesim::config {

Node* Node::find(std::string_view name) const {
  const auto found = by_key.find(name);
  return found == by_key.end() ? nullptr : found->second;
}

bool Node::ignored() const { return key == "$schema" || key.starts_with("x-"); }

std::string Node::pointer() const {
  std::vector<std::string> tokens;
  for (const Node* node = this; node->parent != nullptr; node = node->parent)
    tokens.push_back(node->parent->kind == Kind::kArray ? std::to_string(node->index)
                                                        : pointer_token(node->key));
  std::string out;
  for (auto token = tokens.rbegin(); token != tokens.rend(); ++token) out += "/" + *token;
  return out;
}

std::string_view Node::kind_name() const {
  switch (kind) {
    case Kind::kNull:
      return "null";
    case Kind::kBoolean:
      return "a boolean";
    case Kind::kNumber:
      return "a number";
    case Kind::kString:
      return "a string";
    case Kind::kArray:
      return "an array";
    case Kind::kObject:
      return "an object";
  }
  return "";
}

std::string Node::shown() const {
  switch (kind) {
    case Kind::kBoolean:
      return boolean ? "true" : "false";
    case Kind::kNumber:
      return number.text();
    case Kind::kString:
      return "\"" + printable(text, 60) + "\"";
    default:
      return std::string(kind_name());
  }
}

Node* Node::add(std::unique_ptr<Node> child) {
  child->parent = this;
  child->index = children.size();
  Node* added = child.get();
  if (kind == Kind::kObject) by_key.emplace(added->key, added);
  children.push_back(std::move(child));
  return added;
}

void Node::replace(Node& child, std::unique_ptr<Node> node) {
  node->parent = this;
  node->index = child.index;
  node->key = child.key;
  if (kind == Kind::kObject) by_key.find(child.key)->second = node.get();
  children[child.index] = std::move(node);
}

std::unique_ptr<Node> Node::take(std::string_view name) {
  const auto found = by_key.find(name);
  if (found == by_key.end()) return nullptr;
  const std::size_t at = found->second->index;
  by_key.erase(found);
  std::unique_ptr<Node> taken = std::move(children[at]);
  children.erase(children.begin() + static_cast<std::ptrdiff_t>(at));
  for (std::size_t i = at; i < children.size(); ++i) children[i]->index = i;
  return taken;
}

void State::fail(const Position& at, std::string pointer, std::string message) {
  findings.push_back({at, std::move(pointer), std::move(message)});
}

void State::add_findings_to(Findings& into) {
  std::sort(findings.begin(), findings.end());
  findings.erase(std::unique(findings.begin(), findings.end()), findings.end());
  for (const StateFinding& f : findings)
    into.add(
        {files[static_cast<std::size_t>(f.at.file)], f.at.line, f.at.column, f.pointer, f.message});
}

void State::throw_findings() {
  Findings all;
  add_findings_to(all);
  CHECK(!all.empty(), "a file is refused without a reason");
  throw UserError(all.text());
}

int add_file(State& state, const std::string& path) {
  state.files.push_back(path);
  state.documents = state.files.size();
  return static_cast<int>(state.files.size()) - 1;
}

std::string unit_of(const Node& node, std::span<const std::string_view> units) {
  for (const Node* at = &node; at != nullptr; at = at->parent) {
    const std::string_view key = at->key;
    const std::size_t underscore = key.rfind('_');
    const std::string_view suffix =
        underscore == std::string_view::npos ? key : key.substr(underscore + 1);
    if (std::find(units.begin(), units.end(), suffix) != units.end()) return std::string(suffix);
  }
  return {};
}

std::string pointer_token(std::string_view key) {
  std::string out;
  for (const char c : key) {
    if (c == '~')
      out += "~0";
    else if (c == '/')
      out += "~1";
    else
      out += c;
  }
  return out;
}

}  // namespace idlesim::config
