// The value tree behind Document and Reader. Private to the config layer.
#ifndef IDLESIM_SRC_CONFIG_NODE_H_
#define IDLESIM_SRC_CONFIG_NODE_H_

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "idlesim/config/json_writer.h"
#include "idlesim/config/decimal.h"
#include "idlesim/config/findings.h"
#include "idlesim/config/parameter.h"

namespace idlesim::config {

enum class Kind : int { kNull, kBoolean, kNumber, kString, kArray, kObject };

struct Position {
  int file = 0;  // index into State::files
  int line = 0;  // 0: not from a file
  int column = 0;
  auto operator<=>(const Position&) const = default;
};

struct Node {
  Kind kind = Kind::kNull;
  Position at;
  bool boolean = false;
  Decimal number;
  std::string text;  // of a string
  std::vector<std::unique_ptr<Node>> children;
  std::map<std::string, Node*, std::less<>> by_key;  // the children of an object

  Node* parent = nullptr;
  std::string key;        // in an object
  Position key_at;        // in an object
  std::size_t index = 0;  // in an array

  // What reading did.
  bool overridden = false;
  bool read = false;     // somebody asked for this value
  bool settled = false;  // dealt with as a whole: there is nothing to say about its inside
  bool listed = false;   // is in State::parameters
  std::set<std::string, std::less<>> asked;  // keys somebody asked for

  Node* find(std::string_view name) const;
  // The children of an object that are not ignored ("$schema", "x-...").
  bool ignored() const;
  std::string pointer() const;
  // What the node is, for messages: "a string".
  std::string_view kind_name() const;
  // "a string" with the value of a scalar: `"abc"`, `12`, `true`.
  std::string shown() const;
  Node* add(std::unique_ptr<Node> child);
  // Puts `node` in the place of a child, under the child's key.
  void replace(Node& child, std::unique_ptr<Node> node);
  // Takes a member out of an object; nullptr if there is none.
  std::unique_ptr<Node> take(std::string_view name);
};

// The node as JSON, without ignored keys (document.cc).
void write_node(JsonWriter& out, const Node& node);

struct StateFinding {
  Position at;
  std::string pointer;
  std::string message;
  auto operator<=>(const StateFinding&) const = default;
};

struct State {
  std::vector<std::string> files;  // the documents', then the names shown for overrides
  std::size_t documents = 0;       // how many of `files` are documents
  std::unique_ptr<Node> root;
  std::vector<StateFinding> findings;
  std::vector<Parameter> parameters;

  void fail(const Position& at, std::string pointer, std::string message);
  void fail(const Node& node, std::string message) { fail(node.at, node.pointer(), message); }
  // Sorted by position, without repetitions.
  void add_findings_to(Findings& into);
  // For a file that cannot be used: there is at least one finding.
  [[noreturn]] void throw_findings();
};

// Unit of a number: the last part of its key ("exit_latency_ns" -> "ns") or of the nearest key
// around it that ends in one of `units`. Empty if there is none.
std::string unit_of(const Node& node, std::span<const std::string_view> units);

// Reference token of a JSON pointer (RFC 6901): "~" and "/" escaped.
std::string pointer_token(std::string_view key);

// Parses `text` and records its errors in `state`; nullptr if it is no JSON value. Positions refer
// to state.files[file].
std::unique_ptr<Node> parse_into(State& state, int file, std::string_view text);

// Reads the file state.files[file] (at most one byte more than is allowed); false, with an error at
// the file's begin, if that is not possible.
bool read_file_into(State& state, int file, std::string& text);

// Adds a document's file name and returns its index.
int add_file(State& state, const std::string& path);

}  // namespace idlesim::config

#endif  // IDLESIM_SRC_CONFIG_NODE_H_
