#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <utility>

#include "idlesim/base/check.h"
#include "idlesim/config/document.h"
#include "idlesim/config/findings.h"
#include "node.h"
#include "utf8.h"

namespace idlesim::config {
namespace {

constexpr std::size_t kMaxBytes = std::size_t{8} << 20;
constexpr std::size_t kMaxDepth = 64;
constexpr std::size_t kMaxValues = 100'000;

// Walks over the text beside nlohmann's parser, which checks it but does not tell where its tokens
// begin. Since every token it hands over is valid, finding its end needs no checks here.
class Cursor {
 public:
  Cursor(std::string_view text, int file) : text_(text), at_{file, 1, 1} {
    if (text_.starts_with("\xEF\xBB\xBF")) offset_ = 3;  // the parser skips it as well
  }

  // Steps to the next token, over it, and returns where it begins.
  Position next() {
    while (offset_ < text_.size() && is_between(text_[offset_])) step();
    const Position start = at_;
    token_ = offset_;
    if (offset_ == text_.size()) return start;
    const char first = text_[offset_];
    step();
    if (first == '"') {
      while (offset_ < text_.size() && text_[offset_] != '"') {
        if (text_[offset_] == '\\') step();
        step();
      }
      step();
    } else if (!is_bracket(first)) {
      while (offset_ < text_.size() && !is_between(text_[offset_]) && !is_bracket(text_[offset_]))
        step();
    }
    return start;
  }
  // Text of the token that next() stepped over.
  std::string_view token() const { return text_.substr(token_, offset_ - token_); }

  // Position of a byte.
  Position position_of(std::size_t offset) {
    while (offset_ < std::min(offset, text_.size())) step();
    return at_;
  }

 private:
  static bool is_between(char c) {
    return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == ',' || c == ':';
  }
  static bool is_bracket(char c) { return c == '[' || c == ']' || c == '{' || c == '}'; }
  void step() {
    if (offset_ >= text_.size()) return;
    if (text_[offset_++] == '\n') {
      ++at_.line;
      at_.column = 1;
    } else if (offset_ == text_.size() || (text_[offset_] & 0xC0) != 0x80) {
      ++at_.column;  // the next byte begins a character
    }
  }

  std::string_view text_;
  std::size_t offset_ = 0;
  std::size_t token_ = 0;
  Position at_;
};

// Builds the tree from nlohmann's events.
class TreeBuilder : public nlohmann::json_sax<nlohmann::json> {
 public:
  TreeBuilder(State& state, int file, std::string_view text)
      : state_(state), text_(text), file_(file), cursor_(text, file) {}

  std::unique_ptr<Node> take() { return std::move(root_); }

  bool null() override { return add(Kind::kNull) != nullptr; }
  bool boolean(bool value) override {
    Node* node = add(Kind::kBoolean);
    if (node != nullptr) node->boolean = value;
    return node != nullptr;
  }
  bool number_integer(number_integer_t) override { return number(); }
  bool number_unsigned(number_unsigned_t) override { return number(); }
  bool number_float(number_float_t, const string_t&) override { return number(); }
  bool string(string_t& value) override {
    Node* node = add(Kind::kString);
    if (node != nullptr) node->text = std::move(value);
    return node != nullptr;
  }
  bool binary(binary_t&) override { return false; }  // not in JSON text
  bool start_object(std::size_t) override { return open(Kind::kObject); }
  bool start_array(std::size_t) override { return open(Kind::kArray); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }

  bool key(string_t& value) override {
    key_at_ = cursor_.next();
    key_ = std::move(value);
    if (const Node* first = open_.back()->find(key_))
      state_.fail(
          key_at_, first->pointer(),
          "duplicate key; it stands in line " + std::to_string(first->key_at.line) + " already");
    return true;
  }

  bool parse_error(std::size_t byte, const std::string&,
                   const nlohmann::detail::exception& error) override {
    // "[json.exception.parse_error.101] parse error at line 3, column 5: TEXT": the place is ours.
    std::string_view message = error.what();
    if (const std::size_t prefix = message.find("] "); prefix != std::string_view::npos)
      message.remove_prefix(prefix + 2);
    if (message.starts_with("parse error at ")) message.remove_prefix(message.find(": ") + 2);
    const Position at = Cursor(text_, file_).position_of(byte == 0 ? 0 : byte - 1);
    state_.fail(at, innermost(), "not valid JSON: " + printable(message, 200));
    return false;
  }

 private:
  bool number() {
    Node* node = add(Kind::kNumber);
    if (node == nullptr) return false;
    if (const auto value = Decimal::parse(cursor_.token()))
      node->number = *value;
    else
      state_.fail(*node, "the number " + printable(cursor_.token(), 40) +
                             " has more digits or a larger exponent than can be kept exactly");
    return true;
  }

  bool open(Kind kind) {
    Node* node = add(kind);
    if (node == nullptr) return false;
    open_.push_back(node);
    if (open_.size() <= kMaxDepth) return true;
    state_.fail(*node, "more than " + std::to_string(kMaxDepth) + " levels of nesting");
    return false;
  }

  bool close() {
    cursor_.next();
    open_.pop_back();
    return true;
  }

  Node* add(Kind kind) {
    auto node = std::make_unique<Node>();
    node->kind = kind;
    node->at = cursor_.next();
    if (++values_ > kMaxValues) {
      state_.fail(node->at, innermost(),
                  "more than " + std::to_string(kMaxValues) + " values in one file");
      return nullptr;
    }
    if (open_.empty()) {
      root_ = std::move(node);
      return root_.get();
    }
    Node& parent = *open_.back();
    if (parent.kind == Kind::kArray) return parent.add(std::move(node));
    node->key = std::exchange(key_, {});
    node->key_at = key_at_;
    if (parent.find(node->key) != nullptr) {
      // A duplicate, reported by key(). Out of the way: the first one counts.
      node->parent = &parent;
      duplicates_.push_back(std::move(node));
      return duplicates_.back().get();
    }
    return parent.add(std::move(node));
  }

  std::string innermost() const { return open_.empty() ? "" : open_.back()->pointer(); }

  State& state_;
  std::string_view text_;
  int file_;
  Cursor cursor_;
  std::unique_ptr<Node> root_;
  std::vector<Node*> open_;
  std::vector<std::unique_ptr<Node>> duplicates_;
  std::string key_;
  Position key_at_;
  std::size_t values_ = 0;
};

}  // namespace

std::unique_ptr<Node> parse_into(State& state, int file, std::string_view text) {
  if (text.size() > kMaxBytes) {
    state.fail({file, 1, 1}, "", "too large: more than 8 MiB");
    return nullptr;
  }
  TreeBuilder builder(state, file, text);
  const bool parsed = nlohmann::json::sax_parse(text.begin(), text.end(), &builder);
  return parsed ? builder.take() : nullptr;
}

bool read_file_into(State& state, int file, std::string& text) {
  const std::string& path = state.files[static_cast<std::size_t>(file)];
  const Position begin{file, 1, 1};
  std::error_code error;
  if (std::filesystem::is_directory(path, error)) {
    state.fail(begin, "", "is a directory");
    return false;
  }
  std::ifstream in(path, std::ios::binary);
  if (!in) {
    state.fail(begin, "", "cannot be opened");
    return false;
  }
  // One byte more than allowed shows that a file (or a pipe, which has no size) is too large.
  // Read in pieces: room for the largest file would cost more than reading the usual small one.
  constexpr std::size_t kPiece = 64 * 1024;
  text.clear();
  while (in && text.size() <= kMaxBytes) {
    const std::size_t before = text.size();
    text.resize(std::min(before + kPiece, kMaxBytes + 1));
    in.read(text.data() + before, static_cast<std::streamsize>(text.size() - before));
    text.resize(before + static_cast<std::size_t>(in.gcount()));
  }
  if (in.bad()) {
    state.fail(begin, "", "cannot be read");
    return false;
  }
  return true;
}

Document parse_text(std::string_view text, const std::string& name) {
  auto state = std::make_unique<State>();
  state->root = parse_into(*state, add_file(*state, name), text);
  if (state->root == nullptr) state->throw_findings();
  return Document(std::move(state));
}

Document parse_file(const std::string& path) {
  auto state = std::make_unique<State>();
  const int file = add_file(*state, path);
  std::string text;
  if (read_file_into(*state, file, text)) state->root = parse_into(*state, file, text);
  if (state->root == nullptr) state->throw_findings();
  return Document(std::move(state));
}

}  // namespace idlesim::config
