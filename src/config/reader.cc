#include "idlesim/config/reader.h"

#include <algorithm>
#include <array>

#include "idlesim/base/check.h"
#include "idlesim/config/findings.h"
#include "idlesim/config/nearest.h"
#include "node.h"

namespace idlesim::config {
namespace {

std::string quoted_list(Reader::Words words) {
  std::string out;
  for (const std::string_view word : words)
    out += (out.empty() ? "\"" : ", \"") + std::string(word) + "\"";
  return out;
}

}  // namespace

bool Reader::has(std::string_view key) const {
  if (node_ == nullptr || node_->kind != Kind::kObject) return false;
  node_->asked.emplace(key);
  return node_->find(key) != nullptr;
}

bool Reader::has_object(std::string_view key) const {
  if (!has(key)) return false;
  return node_->find(key)->kind == Kind::kObject;
}

Reader Reader::child(std::string_view key, std::string_view expected) {
  const Reader absent(state_, nullptr);
  if (!is(Kind::kObject, "an object")) return absent;
  node_->asked.emplace(key);
  Node* found = node_->find(key);
  if (found != nullptr) {
    found->read = true;
    return Reader(state_, found);
  }
  if (!expected.empty())
    state_->fail(node_->at, node_->pointer() + "/" + pointer_token(key),
                 "missing key; expected " + std::string(expected));
  return absent;
}

bool Reader::is(Kind kind, std::string_view expected) {
  if (node_ == nullptr) return false;
  if (node_->kind == kind) return true;
  node_->settled = true;
  state_->fail(*node_, "expected " + std::string(expected) + ", found " +
                           (node_->kind == Kind::kString ? node_->shown()
                                                         : std::string(node_->kind_name())));
  return false;
}

// --- containers ---

Reader Reader::object(std::string_view key) {
  Reader found = child(key, "an object");
  return found.is(Kind::kObject, "an object") ? found : Reader(state_, nullptr);
}

std::optional<Reader> Reader::optional_object(std::string_view key) {
  Reader found = child(key, "");
  if (!found.exists()) return std::nullopt;
  return found.is(Kind::kObject, "an object") ? found : Reader(state_, nullptr);
}

std::vector<Reader> Reader::as_array() {
  std::vector<Reader> out;
  if (!is(Kind::kArray, "an array")) return out;
  for (const auto& element : node_->children) {
    element->read = true;
    out.emplace_back(state_, element.get());
  }
  return out;
}

std::vector<Reader> Reader::array(std::string_view key) {
  return child(key, "an array").as_array();
}
std::vector<Reader> Reader::optional_array(std::string_view key) {
  return child(key, "").as_array();
}

std::vector<std::string> Reader::strings(std::string_view key) {
  std::vector<std::string> out;
  for (Reader element : array(key)) out.push_back(element.as_string());
  return out;
}

std::vector<std::int64_t> Reader::integers(std::string_view key, std::int64_t min,
                                           std::int64_t max) {
  std::vector<std::int64_t> out;
  for (Reader element : array(key)) out.push_back(element.as_integer(min, max));
  return out;
}

std::vector<std::pair<std::string, Reader>> Reader::members() {
  std::vector<std::pair<std::string, Reader>> out;
  if (!is(Kind::kObject, "an object")) return out;
  for (const auto& member : node_->children) {
    if (member->ignored()) continue;
    member->read = true;
    out.emplace_back(member->key, Reader(state_, member.get()));
  }
  return out;
}

// --- scalars ---

std::string Reader::as_string() {
  return is(Kind::kString, "a string") ? node_->text : std::string();
}

bool Reader::as_boolean() { return is(Kind::kBoolean, "true or false") && node_->boolean; }

std::int64_t Reader::as_integer(std::int64_t min, std::int64_t max) {
  CHECK(min <= max);
  const std::int64_t fallback = std::clamp<std::int64_t>(0, min, max);
  if (!is(Kind::kNumber, "an integer")) return fallback;
  const auto value = node_->number.to_integer();
  if (!value && node_->number.scale() > 0) {
    fail("expected an integer, found " + node_->shown());
    return fallback;
  }
  if (value && *value >= min && *value <= max) return *value;
  const std::string bounds = max == kMax
                                 ? "at least " + std::to_string(min)
                                 : "from " + std::to_string(min) + " to " + std::to_string(max);
  fail("must be " + bounds + ", found " + node_->shown());
  return fallback;
}

std::string Reader::as_enumeration(Words allowed) {
  CHECK(!allowed.empty());
  const std::string fallback(allowed.front());
  if (!is(Kind::kString, "one of " + quoted_list(allowed))) return fallback;
  if (std::find(allowed.begin(), allowed.end(), node_->text) != allowed.end()) return node_->text;
  const std::string nearest_word = did_you_mean(node_->text, allowed);
  fail("unknown value " + node_->shown() + nearest_word + (nearest_word.empty() ? "; " : " (") +
       "allowed: " + quoted_list(allowed) + (nearest_word.empty() ? "" : ")"));
  return fallback;
}

std::string Reader::as_text() {
  if (node_ == nullptr) return {};
  node_->settled = true;
  if (node_->kind == Kind::kString) return node_->text;
  JsonWriter out;
  write_node(out, *node_);
  std::string text = out.take();
  text.pop_back();
  return text;
}

Decimal Reader::as_decimal() { return is(Kind::kNumber, "a number") ? node_->number : Decimal(); }

std::string Reader::string(std::string_view key) { return child(key, "a string").as_string(); }
std::string Reader::string_or(std::string_view key, std::string_view fallback) {
  Reader found = child(key, "");
  return found.exists() ? found.as_string() : std::string(fallback);
}

bool Reader::boolean(std::string_view key) { return child(key, "true or false").as_boolean(); }
bool Reader::boolean_or(std::string_view key, bool fallback) {
  Reader found = child(key, "");
  return found.exists() ? found.as_boolean() : fallback;
}

std::int64_t Reader::integer(std::string_view key, std::int64_t min, std::int64_t max) {
  Reader found = child(key, "an integer");
  return found.exists() ? found.as_integer(min, max) : std::clamp<std::int64_t>(0, min, max);
}
std::int64_t Reader::integer_or(std::string_view key, std::int64_t min, std::int64_t max,
                                std::int64_t fallback) {
  Reader found = child(key, "");
  return found.exists() ? found.as_integer(min, max) : fallback;
}

std::string Reader::enumeration(std::string_view key, Words allowed) {
  Reader found = child(key, "one of " + quoted_list(allowed));
  return found.exists() ? found.as_enumeration(allowed) : std::string(allowed.front());
}
std::string Reader::enumeration_or(std::string_view key, Words allowed, std::string_view fallback) {
  Reader found = child(key, "");
  return found.exists() ? found.as_enumeration(allowed) : std::string(fallback);
}

Decimal Reader::decimal(std::string_view key) { return child(key, "a number").as_decimal(); }
Decimal Reader::decimal_or(std::string_view key, Decimal fallback) {
  Reader found = child(key, "");
  return found.exists() ? found.as_decimal() : fallback;
}

void Reader::ignore(std::string_view key) {
  Reader found = child(key, "");
  // Whatever is inside has been dealt with.
  if (found.exists()) found.node_->settled = true;
}

// --- errors and places ---

void Reader::fail(std::string_view key, const std::string& message) {
  if (node_ == nullptr) return;
  if (const Node* found = node_->find(key))
    state_->fail(*found, message);
  else
    state_->fail(node_->at, node_->pointer() + "/" + pointer_token(key), message);
}

void Reader::fail(const std::string& message) {
  if (node_ != nullptr) state_->fail(*node_, message);
}

std::string Reader::pointer() const { return node_ == nullptr ? "" : node_->pointer(); }

std::string Reader::where() const {
  if (node_ == nullptr) return "";
  const std::string& file = state_->files[static_cast<std::size_t>(node_->at.file)];
  return node_->at.line == 0 ? file : file + ":" + std::to_string(node_->at.line);
}

}  // namespace idlesim::config
