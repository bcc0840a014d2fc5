#include "idlesim/hw/topology_import.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <utility>

#include "idlesim/base/check.h"
#include "idlesim/hw/csv.h"

namespace idlesim::hw {

namespace {

constexpr int kMaxCpus = 65536;  // beyond any Linux machine; bounds what a broken file may ask for

// Are CPUs together under `group_b` that are together under `group_a`? Groups of both are equally
// large, so that the groups are then the same.
template <class A, class B>
bool same_groups(const std::vector<CpuPlace>& cpus, A group_a, B group_b) {
  std::map<int, int> a_to_b;
  for (const CpuPlace& place : cpus) {
    const int b = group_b(place);
    if (a_to_b.emplace(group_a(place), b).first->second != b) return false;
  }
  return true;
}

bool numbered_as(const ImportedTopology& imported, Numbering numbering) {
  TopologySpec spec = imported.spec;
  spec.numbering = numbering;
  const Topology topology(spec);
  const auto& cpus = imported.cpus;
  const auto socket = [&](const CpuPlace& p) { return topology.socket(p.cpu); };
  const auto cluster = [&](const CpuPlace& p) { return topology.cluster(p.cpu); };
  const auto core = [&](const CpuPlace& p) { return topology.core(p.cpu); };
  return same_groups(
             cpus, [](const CpuPlace& p) { return p.socket; }, socket) &&
         same_groups(
             cpus, [](const CpuPlace& p) { return p.cluster; }, cluster) &&
         same_groups(
             cpus, [](const CpuPlace& p) { return p.core; }, core);
}

// Number of groups; UserError unless all have the same number of CPUs.
template <class Group>
int count_equal_groups(const std::vector<CpuPlace>& cpus, const std::string& path,
                       const std::string& what, Group group) {
  std::map<std::pair<int, int>, int> sizes;
  for (const CpuPlace& place : cpus) ++sizes[group(place)];
  for (const auto& [key, size] : sizes)
    if (size != sizes.begin()->second)
      throw UserError(path + ": " + what + " with " + std::to_string(sizes.begin()->second) +
                      " and with " + std::to_string(size) + " CPUs: all must be equal");
  return static_cast<int>(sizes.size());
}

ImportedTopology finish_import(std::vector<CpuPlace> cpus, const std::string& path) {
  if (cpus.empty()) throw UserError(path + ": no CPU found");
  std::sort(cpus.begin(), cpus.end(),
            [](const CpuPlace& a, const CpuPlace& b) { return a.cpu < b.cpu; });
  for (std::size_t i = 0; i < cpus.size(); ++i)
    if (cpus[i].cpu != static_cast<CpuId>(i))
      throw UserError(path + ": " + std::to_string(cpus.size()) +
                      " CPUs that are not numbered 0 to " + std::to_string(cpus.size() - 1));
  const auto groups = [&](const char* what, auto key) {
    return count_equal_groups(cpus, path, what, key);
  };
  using Key = std::pair<int, int>;
  const int sockets = groups("sockets", [](const CpuPlace& p) { return Key(p.socket, 0); });
  const int nodes = groups("nodes", [](const CpuPlace& p) { return Key(p.socket, p.node); });
  const int clusters = groups("L3 caches", [](const CpuPlace& p) { return Key(p.cluster, 0); });
  const int cores = groups("cores", [](const CpuPlace& p) { return Key(p.core, 0); });
  if (nodes % sockets != 0 || clusters % nodes != 0 || cores % clusters != 0)
    throw UserError(path + ": sockets, nodes, L3 caches and cores are not nested evenly");
  ImportedTopology imported;
  imported.spec.sockets = sockets;
  imported.spec.nodes_per_socket = nodes / sockets;
  imported.spec.clusters_per_node = clusters / nodes;
  imported.spec.cores_per_cluster = cores / clusters;
  imported.spec.threads_per_core = static_cast<int>(cpus.size()) / cores;
  imported.cpus = std::move(cpus);
  for (Numbering rule : {Numbering::kBlock, Numbering::kRoundRobin, Numbering::kAdjacent})
    if (!imported.numbering_known && numbered_as(imported, rule)) {
      imported.spec.numbering = rule;
      imported.numbering_known = true;
    }
  return imported;
}

// Builds CPU places from objects in the order of the file, each with its depth of nesting.
class Builder {
 public:
  explicit Builder(const std::string& path) : path_(path) {}

  void object(int depth, std::string_view type, std::optional<int> os_index, int line) {
    while (frames_.size() > 1 && frames_.back().depth >= depth) frames_.pop_back();
    Frame frame = frames_.back();
    frame.depth = depth;
    if (type == "NUMANode") {
      frames_.back().node = nodes_++;  // memory belongs to the object that holds it
      return;
    }
    if (type == "Package") frame.socket = sockets_++;
    if (type == "L3Cache") {
      frame.cluster = clusters_++;
      // Some kernels show no package for a socket of which only a part may be used.
      if (frame.socket < 0) frame.socket = sockets_++;
    }
    if (type == "Core") {
      frame.core = cores_++;
      threads_ = 0;
    }
    if (type == "PU") add_cpu(frame, os_index, line);
    frames_.push_back(frame);
  }

  std::vector<CpuPlace> take() { return std::move(cpus_); }

 private:
  struct Frame {
    int depth = -1;
    int socket = -1;
    int node = 0;
    int cluster = -1;
    int core = -1;
  };

  void add_cpu(const Frame& frame, std::optional<int> os_index, int line) {
    if (!os_index) input_error(path_, line, "a PU without its number in the operating system");
    if (frame.socket < 0) input_error(path_, line, "a PU outside every package");
    if (frame.core < 0) input_error(path_, line, "a PU outside every core");
    if (cpus_.size() >= kMaxCpus) input_error(path_, line, "more CPUs than Linux can have");
    int cluster = frame.cluster;
    if (cluster < 0) {
      const auto [known, added] = cluster_of_socket_.emplace(frame.socket, clusters_);
      if (added) ++clusters_;
      cluster = known->second;
    }
    cpus_.push_back({*os_index, frame.socket, frame.node, cluster, frame.core, threads_++});
  }

  const std::string& path_;
  std::vector<Frame> frames_ = {Frame{}};
  std::vector<CpuPlace> cpus_;
  std::map<int, int> cluster_of_socket_;  // of sockets without an L3
  int sockets_ = 0;
  int nodes_ = 0;
  int clusters_ = 0;
  int cores_ = 0;
  int threads_ = 0;
};

struct Tag {
  std::string_view text;  // between < and >
  int line = 0;
  std::string_view name() const {
    const std::string_view rest = text.substr(closes() ? 1 : 0);
    return rest.substr(0, rest.find_first_of(" \t\r\n/"));
  }
  bool closes() const { return text.front() == '/'; }
  bool empty() const { return text.back() == '/'; }
  std::optional<std::string_view> attribute(const std::string& name) const {
    const std::string start = " " + name + "=\"";
    const std::size_t at = text.find(start);
    if (at == std::string_view::npos) return std::nullopt;
    const std::size_t from = at + start.size();
    return text.substr(from, text.find('"', from) - from);
  }
};

// Walks over the tags of an XML text; text between them, comments and declarations are skipped.
class TagReader {
 public:
  TagReader(std::string_view text, const std::string& path) : text_(text), path_(path) {}

  std::optional<Tag> next() {
    for (;;) {
      const std::size_t open = text_.find('<', at_);
      if (open == std::string_view::npos) return std::nullopt;
      count_lines(open);
      const std::string_view rest = text_.substr(open);
      if (rest.starts_with("<!--")) {
        skip_to("-->");
      } else if (rest.starts_with("<?") || rest.starts_with("<!")) {
        skip_to(">");
      } else {
        return tag();
      }
    }
  }
  int line() const { return line_; }

 private:
  void count_lines(std::size_t to) {
    line_ += static_cast<int>(std::count(text_.begin() + static_cast<std::ptrdiff_t>(at_),
                                         text_.begin() + static_cast<std::ptrdiff_t>(to), '\n'));
    at_ = to;
  }
  void skip_to(std::string_view end) {
    const std::size_t found = text_.find(end, at_);
    if (found == std::string_view::npos) input_error(path_, line_, "the file ends inside a tag");
    count_lines(found + end.size());
  }
  Tag tag() {
    bool quoted = false;
    std::size_t end = at_ + 1;
    while (end < text_.size() && (quoted || text_[end] != '>')) quoted ^= text_[end++] == '"';
    if (end >= text_.size()) input_error(path_, line_, "the file ends inside a tag");
    const Tag tag{text_.substr(at_ + 1, end - at_ - 1), line_};
    if (tag.text.empty() || tag.text == "/") input_error(path_, line_, "a tag without a name");
    count_lines(end + 1);
    return tag;
  }

  std::string_view text_;
  const std::string& path_;
  std::size_t at_ = 0;
  int line_ = 1;
};

}  // namespace

ImportedTopology read_hwloc_xml(const std::string& path) {
  std::string text;
  for (const std::string& line : read_lines(path)) text += line + "\n";
  TagReader tags(text, path);
  Builder builder(path);
  std::vector<std::string_view> open;
  while (const std::optional<Tag> tag = tags.next()) {
    if (tag->closes()) {
      if (open.empty() || open.back() != tag->name())
        input_error(path, tag->line, "</" + std::string(tag->name()) + "> closes nothing");
      open.pop_back();
      continue;
    }
    if (open.empty() && tag->name() != "topology")
      input_error(path, tag->line, "the root of a topology file is <topology>");
    if (tag->name() == "object") {
      const auto type = tag->attribute("type");
      if (!type) input_error(path, tag->line, "an object without a type");
      std::optional<int> os_index;
      if (const auto number = tag->attribute("os_index"); number && *type == "PU")
        os_index = parse_count(*number, path, tag->line);
      builder.object(static_cast<int>(open.size()), *type, os_index, tag->line);
    }
    if (!tag->empty()) open.push_back(tag->name());
  }
  if (!open.empty())
    input_error(path, tags.line(), "<" + std::string(open.back()) + "> is not closed");
  return finish_import(builder.take(), path);
}

ImportedTopology read_lstopo_console(const std::string& path) {
  const std::vector<std::string> lines = read_lines(path);
  if (lines.empty() || !lines.front().starts_with("Machine"))
    input_error(path, 1, "lstopo's console text starts with Machine");
  Builder builder(path);
  for (std::size_t i = 0; i < lines.size() && !lines[i].starts_with("depth"); ++i) {
    const int line = static_cast<int>(i) + 1;
    const std::string_view all = lines[i];
    const std::size_t indent = all.find_first_not_of(' ');
    if (indent == std::string_view::npos) continue;
    const std::string_view object = all.substr(indent);
    const std::string_view type = object.substr(0, object.find(' '));
    std::optional<int> os_index;
    constexpr std::string_view kNumber = "(P#";
    if (const std::size_t at = object.find(kNumber); type == "PU" && at != std::string_view::npos) {
      const std::string_view number = object.substr(at + kNumber.size());
      os_index = parse_count(number.substr(0, number.find_first_of(" )")), path, line);
    }
    builder.object(static_cast<int>(indent), type, os_index, line);
  }
  return finish_import(builder.take(), path);
}

}  // namespace idlesim::hw
