#include "idlesim/config/document.h"

#include <algorithm>
#include <utility>

#include "idlesim/config/digest.h"
#include "idlesim/config/nearest.h"
#include "node.h"

namespace idlesim::config {
namespace {

// Keys below `node` that nobody asked for. What was not read at all is one finding, without its
// inside. Recursion is bounded by the depth limit of the parser.
void find_unread(State& state, const Node& node) {
  if (node.settled) return;
  const std::vector<std::string_view> asked(node.asked.begin(), node.asked.end());
  for (const auto& child : node.children) {
    if (node.kind == Kind::kObject && child->ignored()) continue;
    if (child->read)
      find_unread(state, *child);
    else if (node.asked.contains(child->key))
      // Known, but only looked for: what was read before decided against it.
      state.fail(child->key_at, child->pointer(), "this key has no effect here");
    else if (node.kind == Kind::kObject)
      state.fail(child->key_at, child->pointer(), "unknown key" + did_you_mean(child->key, asked));
  }
}

}  // namespace

void write_node(JsonWriter& out, const Node& node) {
  switch (node.kind) {
    case Kind::kNull:
      out.null();
      break;
    case Kind::kBoolean:
      out.value(node.boolean);
      break;
    case Kind::kNumber:
      out.value(node.number);
      break;
    case Kind::kString:
      out.value(node.text);
      break;
    case Kind::kArray: {
      const bool flat = std::all_of(node.children.begin(), node.children.end(),
                                    [](const auto& child) { return child->children.empty(); });
      out.begin_array(flat ? JsonWriter::Layout::kOneLine : JsonWriter::Layout::kLines);
      for (const auto& child : node.children) write_node(out, *child);
      out.end_array();
      break;
    }
    case Kind::kObject:
      out.begin_object();
      for (const auto& child : node.children) {
        if (child->ignored()) continue;
        out.key(child->key);
        write_node(out, *child);
      }
      out.end_object();
      break;
  }
}

Document::Document(std::unique_ptr<State> state) : state_(std::move(state)) {}
Document::Document(Document&&) noexcept = default;
Document& Document::operator=(Document&&) noexcept = default;
Document::~Document() = default;

const std::string& Document::path() const { return state_->files.front(); }

std::vector<std::string> Document::files() const {
  return {state_->files.begin(),
          state_->files.begin() + static_cast<std::ptrdiff_t>(state_->documents)};
}

Reader Document::root() {
  state_->root->read = true;
  return Reader(state_.get(), state_->root.get());
}

const std::vector<Parameter>& Document::parameters() const { return state_->parameters; }

void Document::finish(Findings& into) {
  if (state_->root->read) find_unread(*state_, *state_->root);
  state_->add_findings_to(into);
}

void Document::finish() {
  Findings all;
  finish(all);
  all.throw_if_any();
}

std::string Document::resolved_json() const {
  JsonWriter out;
  write_resolved(out);
  return out.take();
}

void Document::write_resolved(JsonWriter& out) const { write_node(out, *state_->root); }

std::string Document::digest() const { return sha256_hex(resolved_json()); }

}  // namespace idlesim::config
