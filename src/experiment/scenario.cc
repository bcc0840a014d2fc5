#include "idlesim/experiment/scenario.h"

#include <algorithm>
#include <set>
#include <sstream>

#include "idlesim/config/digest.h"
#include "idlesim/config/document.h"
#include "idlesim/config/json_writer.h"
#include "idlesim/experiment/workloads.h"
#include "variant_reader.h"

namespace idlesim::experiment {

namespace {

using config::Document;

// --- helpers ---

// Overrides by the file they go to: "machine.x" leaves the scenario.
struct Routed {
  std::vector<Override> scenario;
  std::vector<Override> machine;
};

Routed route(const std::vector<Override>& overrides) {
  constexpr std::size_t kPrefix = 8;  // "machine." and "/machine"
  Routed routed;
  for (const Override& o : overrides) {
    if (o.path.starts_with("machine.") || o.path.starts_with("/machine/"))
      routed.machine.push_back({o.path.substr(kPrefix), o.value, o.shown_as});
    else
      routed.scenario.push_back(o);
  }
  return routed;
}

// Errors of all variants, each once: what is wrong in the file is wrong in every variant.
class ErrorLines {
 public:
  void add(const config::Findings& findings) {
    std::istringstream text(findings.text());
    for (std::string line; std::getline(text, line);)
      if (seen_.insert(line).second) all_.add(UserError(line));
  }
  bool empty() const { return all_.empty(); }
  void throw_if_any() const { all_.throw_if_any(); }

 private:
  std::set<std::string> seen_;
  config::Findings all_;
};

// The value at a dotted path as one writes it after --set; empty if there is none. Only after the
// document was finished: looking counts as reading.
std::string text_at(config::Reader at, std::string_view path) {
  std::string_view rest = path;
  while (!rest.empty()) {
    const std::string_view key = rest.substr(0, rest.find('.'));
    rest.remove_prefix(std::min(key.size() + 1, rest.size()));
    if (!at.has(key)) return {};
    for (auto& [name, value] : at.members())
      if (name == key) at = value;
  }
  return at.has("value") ? text_at(at, "value") : at.as_text();
}

// --- parts of the file ---

struct VariantText {
  std::string name;
  std::vector<Override> set;
};

void read_variant_settings(config::Reader set, VariantText& text) {
  for (auto& [path, value] : set.members()) {
    const std::string written = value.as_text();
    const std::string_view first = std::string_view(path).substr(0, path.find('.'));
    if (first == "kernel" || first == "platform" || is_placement(path))
      text.set.push_back({path, written, value.where() + ": variant \"" + text.name + "\""});
    else
      value.fail(
          "the variants of a scenario run on one machine and do the same work; only kernel and "
          "platform settings may differ");
  }
}

bool is_variant_name(const std::string& name) {
  constexpr std::string_view kAllowed =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.+-";
  return !name.empty() && name.find_first_not_of(kAllowed) == std::string::npos;
}

// `variants` as written: names and the settings each changes.
std::vector<VariantText> read_variant_list(config::Reader root) {
  std::vector<VariantText> variants;
  std::set<std::string> names;
  for (config::Reader& in : root.optional_array("variants")) {
    VariantText text;
    text.name = in.string("name");
    if (!names.insert(text.name).second) in.fail("name", "two variants have this name");
    if (in.has("name") && !is_variant_name(text.name))
      in.fail("name", "expected letters, digits and any of _ . + -");
    if (in.has("description")) in.string("description");
    if (auto set = in.optional_object("set")) read_variant_settings(*set, text);
    variants.push_back(std::move(text));
  }
  if (variants.empty()) variants.push_back({"default", {}});
  return variants;
}

void read_head(config::Reader root, Scenario& scenario) {
  root.integer("schema_version", 1, 1);
  scenario.name = root.string("name");
  if (root.has("name") && scenario.name.empty()) root.fail("name", "must not be empty");
  scenario.description = root.string_or("description", "");
  scenario.runs = static_cast<int>(root.integer_or("runs", 1, 100'000, 10));
  scenario.seed = static_cast<std::uint64_t>(root.integer_or("seed", 0, config::Reader::kMax, 1));
}

// What a path that variants change is set to here: a feature's value in force, or the document's.
std::string setting(const Variant& variant, const config::Reader& root,
                    std::optional<Document>& platform, const std::string& path) {
  constexpr std::size_t kPrefix = 7;  // "kernel."
  if (path.starts_with("kernel.") && kernel::find_axis(path.substr(kPrefix)) >= 0)
    return std::string(variant.config.features.get(path.substr(kPrefix)));
  if (path.starts_with("platform.") && platform)
    return text_at(platform->root(), path.substr(std::string_view("platform.").size()));
  return text_at(root, path);
}

// --- the whole ---

// Reads one scenario: the same file once per variant, with that variant's settings.
class ScenarioReader {
 public:
  ScenarioReader(const ConfigPaths& paths, const std::string& name_or_path,
                 const std::vector<Override>& overrides)
      : paths_(paths), path_(paths.scenario(name_or_path)), routed_(route(overrides)) {
    if (!is_file(path_)) throw UserError(no_such_file(name_or_path, path_));
  }

  Scenario read() {
    Document common = load({});
    texts_ = read_variant_list(common.root());
    for (const VariantText& text : texts_) read_variant(text);
    errors_.throw_if_any();
    resolve(common);
    return std::move(scenario_);
  }

 private:
  Document load(const std::vector<Override>& variant_set) const {
    Document doc = config::load_with_extends(path_, beside_or_in(paths_, &ConfigPaths::scenario));
    const auto apply = [&doc](const Override& o) {
      // What comes after "platform." is a path in the platform file: one key here.
      constexpr std::string_view kPlatform = "platform.";
      const std::string path =
          o.path.starts_with(kPlatform) ? "/platform/" + o.path.substr(kPlatform.size()) : o.path;
      doc.override_value(path, o.value, Document::Missing::kCreate, o.shown_as);
    };
    for (const Override& o : variant_set) apply(o);
    for (const Override& o : routed_.scenario) apply(o);
    return doc;
  }

  void read_variant(const VariantText& text) {
    Document doc = load(text.set);
    config::Findings findings;
    config::Reader root = doc.root();
    read_head(root, scenario_);
    read_variant_list(root);
    Variant variant;
    variant.name = text.name;
    VariantReader reader(paths_, cache_, findings, variant);
    reader.read(root, routed_.machine);
    doc.finish(findings);
    errors_.add(findings);
    if (!errors_.empty()) return;
    variant.parameters.insert(variant.parameters.end(), doc.parameters().begin(),
                              doc.parameters().end());
    compare_with_first(root, reader.platform(), variant);
    for (const UsedFile& file : reader.files())
      if (std::find(files_.begin(), files_.end(), file) == files_.end()) files_.push_back(file);
    scenario_.variants.push_back(std::move(variant));
  }

  // Settings that any variant changes and that are other than the first variant's.
  void compare_with_first(const config::Reader& root, std::optional<Document>& platform,
                          Variant& variant) {
    std::size_t index = 0;
    std::set<std::string> seen;
    for (const VariantText& text : texts_)
      for (const Override& o : text.set) {
        if (!seen.insert(o.path).second) continue;
        const std::string here = setting(variant, root, platform, o.path);
        if (scenario_.variants.empty()) first_settings_.push_back(here);
        const std::string& first = first_settings_[index++];
        if (here != first) variant.changes.push_back({o.path, first, here});
      }
  }

  // What is in force, without the paths at which the files were found.
  void resolve(const Document& common) {
    config::JsonWriter out;
    out.begin_object().key("scenario");
    common.write_resolved(out);
    out.key("machine_overrides").begin_object();
    for (const Override& o : routed_.machine) out.member(o.path, o.value);
    out.end_object().key("files").begin_array();
    for (const UsedFile& file : files_) {
      out.begin_object(config::JsonWriter::Layout::kOneLine);
      out.member("kind", file.kind).member("name", file.name).member("digest", file.digest);
      out.end_object();
    }
    out.end_array().end_object();
    scenario_.resolved_json = out.take();
    scenario_.digest = "sha256:" + config::sha256_hex(scenario_.resolved_json);
  }

  const ConfigPaths& paths_;
  const std::string path_;
  const Routed routed_;
  std::vector<VariantText> texts_;
  std::vector<std::string> first_settings_;  // by changed path
  std::vector<UsedFile> files_;
  FileCache cache_;
  ErrorLines errors_;
  Scenario scenario_;
};

}  // namespace

Scenario load_scenario(const ConfigPaths& paths, const std::string& name_or_path,
                       const std::vector<Override>& overrides) {
  return ScenarioReader(paths, name_or_path, overrides).read();
}

}  // namespace idlesim::experiment
