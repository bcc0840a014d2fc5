// A JSON file that the user wrote: parsed strictly, read through Reader, written back resolved.
//
//   config::Document doc = config::parse_file(path);
//   MachineSpec spec = read_machine(doc.root());  // goes on after an error, with harmless defaults
//   doc.finish();                                 // throws UserError with every error found
//
// What was read before finish() returned must not be used for anything but reading on.
//
// Strict: duplicate keys, trailing text, comments, invalid UTF-8, numbers that are no exact 63-bit
// decimals, more than 64 levels, more than 100,000 values or 8 MiB are errors, and so is every key
// nobody asked for. Keys "$schema" and those that start with "x-" are ignored everywhere.
#ifndef IDLESIM_CONFIG_DOCUMENT_H_
#define IDLESIM_CONFIG_DOCUMENT_H_

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "idlesim/config/findings.h"
#include "idlesim/config/json_writer.h"
#include "idlesim/config/parameter.h"
#include "idlesim/config/reader.h"

namespace idlesim::config {

struct State;

class Document {
 public:
  explicit Document(std::unique_ptr<State> state);
  Document(Document&&) noexcept;
  Document& operator=(Document&&) noexcept;
  ~Document();

  const std::string& path() const;
  // The files it was made of: its own, then those it extends, nearest first.
  std::vector<std::string> files() const;

  // Readers stay valid as long as the Document, also when it is moved.
  Reader root();

  // Replaces a value before reading. `where` is a JSON pointer ("/core/kernel_ipc", array elements
  // by index) or a dotted path ("core.kernel_ipc"). At a parameter it replaces the parameter's
  // "value". `text` is JSON of the same type as the value it replaces; for a string also the bare
  // text. An error (no such value, other type) is a finding of the document, shown as
  // `SHOWN_AS: /pointer: message`. kCreate makes a missing last key instead of complaining, so that
  // an optional key can be set; a key the reader does not know is then an unread key.
  enum class Missing { kError, kCreate };
  void override_value(std::string_view where, std::string_view text,
                      Missing missing = Missing::kError, const std::string& shown_as = "--set");

  // The parameters read so far, in the order of reading.
  const std::vector<Parameter>& parameters() const;

  // Adds every error to `into`, sorted by file and position: what parsing, overriding and reading
  // found, and every key that was not read.
  void finish(Findings& into);
  // The same, thrown as one UserError if there is any.
  void finish();

  // What is in force after extending and overriding: keys in source order, numbers in their
  // shortest form, without ignored keys.
  std::string resolved_json() const;
  void write_resolved(JsonWriter& out) const;
  // SHA-256 of resolved_json().
  std::string digest() const;

 private:
  std::unique_ptr<State> state_;
};

// Both throw UserError for text that is no JSON document; errors that leave a document (duplicate
// keys) are kept for finish(). `name` stands for the path in messages.
Document parse_file(const std::string& path);
Document parse_text(std::string_view text, const std::string& name);

// Finds the file that `"extends": name` means in the file `from_path`.
using ExtendsResolver =
    std::function<std::string(const std::string& name, const std::string& from_path)>;
// NAME.json in the directory of the file that extends it.
std::string sibling_file(const std::string& name, const std::string& from_path);

// Reads a file and what its key "extends" names, and so on. Objects merge deeply, the extending
// file wins; arrays, and objects with a key "value" (parameters), are replaced whole. Every value
// keeps the file and line it came from. A missing base or a cycle is an error at the "extends"
// value.
Document load_with_extends(const std::string& path, const ExtendsResolver& resolver = sibling_file);

}  // namespace idlesim::config

#endif  // IDLESIM_CONFIG_DOCUMENT_H_
