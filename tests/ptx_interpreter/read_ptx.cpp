// PTX text into functions of decoded instructions (ptx.h). The grammar is that of NVIDIA's "PTX ISA", as far
// as nvcc and NVRTC write it.
#include <algorithm>
#include <cctype>
#include <cstring>
#include <string_view>

#include "ptx.h"

namespace ptx_interpreter {

namespace {

struct Token {
  std::string_view text;
  int line;
};

bool of_word(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '$' || c == '%' || c == '.';
}

std::vector<Token> tokens_of(const std::string& text) {
  std::vector<Token> list;
  int line = 1;
  size_t i = 0;
  const size_t n = text.size();
  while (i < n) {
    const char c = text[i];
    if (c == '\n') {
      ++line, ++i;
    } else if (std::isspace(static_cast<unsigned char>(c)) || c == '\0') {
      ++i;
    } else if (text.compare(i, 2, "//") == 0) {
      while (i < n && text[i] != '\n') ++i;
    } else if (text.compare(i, 2, "/*") == 0) {
      const size_t end = std::min(text.find("*/", i), n);
      line += static_cast<int>(
          std::count(text.begin() + static_cast<long>(i), text.begin() + static_cast<long>(end), '\n'));
      i = std::min(end + 2, n);
    } else if (c == '"') {
      const size_t end = std::min(text.find('"', i + 1), n - 1);
      list.push_back({std::string_view(text).substr(i, end + 1 - i), line});
      i = end + 1;
    } else if (of_word(c)) {
      size_t end = i;
      // a name may go on after two colons
      while (end < n && (of_word(text[end]) || text.compare(end, 2, "::") == 0))
        end += text[end] == ':' ? 2 : 1;
      list.push_back({std::string_view(text).substr(i, end - i), line});
      i = end;
    } else {
      list.push_back({std::string_view(text).substr(i, 1), line});
      ++i;
    }
  }
  list.push_back({std::string_view(), line + 1});
  return list;
}

int bytes_of_type(std::string_view type) {
  if (type == ".pred") return 1;
  if (type.size() < 3) return 0;
  const std::string_view bits = type.substr(2);
  if (std::string_view("busf").find(type[1]) == std::string_view::npos) return 0;
  return bits == "8" ? 1 : bits == "16" ? 2 : bits == "32" ? 4 : bits == "64" ? 8 : bits == "128" ? 16 : 0;
}

struct Symbol {
  enum Kind { kRegister, kFrame, kShared, kVariable } kind;
  int64_t at = 0;  // number, or offset
  int bytes = 0;
  const Variable* variable = nullptr;
};
struct Scope {
  int parent;
  std::unordered_map<std::string, Symbol> symbols;
  std::unordered_map<std::string, int> labels, tables;
};
// `%r<10>` declares %r0 .. %r9
struct Numbered {
  int first, count;
};

class Reader {
 public:
  explicit Reader(const std::string& text) : tokens_(tokens_of(text)), module_(std::make_unique<Module>()) {}

  std::unique_ptr<Module> read() {
    scopes_.push_back({-1, {}, {}, {}});
    while (!now().empty()) item();
    for (const auto& [name, function] : module_->functions) function->shared_bytes = module_->shared_bytes;
    for (const auto& call : module_->calls) link(call.get());
    std::reverse(module_->constants.begin(), module_->constants.end());
    return std::move(module_);
  }

 private:
  std::string_view now() const { return tokens_[at_].text; }
  std::string_view ahead() const { return tokens_[std::min(at_ + 1, tokens_.size() - 1)].text; }
  int line() const { return tokens_[at_].line; }
  [[noreturn]] void wrong(const std::string& what) const {
    throw PtxError("PTX, line " + std::to_string(line()) + ": " + what);
  }
  std::string_view take() {
    if (now().empty()) wrong("the text ends in the middle");
    return tokens_[at_++].text;
  }
  std::string word() { return std::string(take()); }
  bool took(std::string_view text) {
    if (now() != text) return false;
    ++at_;
    return true;
  }
  void expect(std::string_view text) {
    if (!took(text)) wrong("'" + std::string(now()) + "' where '" + std::string(text) + "' is expected");
  }
  void skip_line() {
    const int here = line();
    while (!now().empty() && line() == here) ++at_;
  }
  void skip_statement() {
    while (!took(";")) take();
  }
  void skip_braces() {
    expect("{");
    for (int depth = 1; depth > 0;) {
      const std::string_view t = take();
      depth += t == "{" ? 1 : t == "}" ? -1 : 0;
    }
  }
  static bool is_number(std::string_view t) { return std::isdigit(static_cast<unsigned char>(t[0])); }
  uint64_t number() {
    const bool negative = took("-");
    const std::string t = word();
    if (!is_number(t)) wrong("'" + t + "' where a number is expected");
    if (t[0] == '0' && t.size() == 10 && (t[1] == 'f' || t[1] == 'F'))
      return std::stoul(t.substr(2), nullptr, 16);
    if (t[0] == '0' && t.size() == 18 && (t[1] == 'd' || t[1] == 'D'))
      return std::stoull(t.substr(2), nullptr, 16);
    const uint64_t value = std::stoull(t, nullptr, 0);
    return negative ? ~value + 1 : value;
  }

  // the module --------------------------------------------------------------------------------------------

  void item() {
    const std::string_view t = now();
    if (t == ".version" || t == ".target" || t == ".address_size" || t == ".alias") return skip_line();
    if (t == ".file") return file();
    if (t == ".section") {
      take(), take();
      return skip_braces();
    }
    if (t == ".pragma") return skip_statement();
    if (t == ".visible" || t == ".weak" || t == ".common") return void(++at_);
    if (t == ".extern") {
      ++at_;
      external_ = true;
      return;
    }
    if (t == ".entry" || t == ".func") return function();
    if (t == ".global" || t == ".const" || t == ".shared") return variable();
    wrong("'" + std::string(t) + "' is not known at the level of a module");
  }
  void skip_rest_of_line() {
    const int here = tokens_[at_ - 1].line;
    while (!now().empty() && line() == here) ++at_;
  }
  void file() {
    take();
    const int index = static_cast<int>(number());
    const std::string name = word();
    module_->files[index] = name.size() > 2 ? name.substr(1, name.size() - 2) : name;
    skip_rest_of_line();
  }

  struct Declared {
    std::string name;
    int align = 1, bytes = 0, element = 0;
  };
  // after the space: .align 8 .b8 name[16], or .b32 name, or .b64 .ptr .global .align 1 name
  Declared declared() {
    Declared d;
    while (now().substr(0, 1) == ".") {
      const std::string_view t = take();
      if (t == ".align")
        d.align = static_cast<int>(number());
      else if (const int bytes = bytes_of_type(t))
        d.element = d.bytes = bytes;
    }
    d.align = std::max(d.align, d.element);
    d.name = word();
    while (took("[")) {
      d.bytes = now() == "]" ? 0 : static_cast<int>(number()) * (d.bytes ? d.bytes : 1);
      expect("]");
    }
    return d;
  }
  static int aligned(int at, int align) { return (at + align - 1) / align * align; }

  void variable() {
    const std::string space = word();
    const Declared d = declared();
    if (space == ".shared") {
      Symbol symbol{Symbol::kShared, 0, d.bytes, nullptr};
      if (external_ || d.bytes == 0) {
        // dynamic: behind everything else, which is known at the end
        symbol.at = -1;
      } else {
        symbol.at = aligned(module_->shared_bytes, d.align);
        module_->shared_bytes = static_cast<int>(symbol.at) + d.bytes;
      }
      scopes_[0].symbols[d.name] = symbol;
    } else {
      auto made = std::make_unique<Variable>();
      made->name = d.name;
      made->bytes.assign(static_cast<size_t>(std::max(d.bytes, 1)), 0);
      made->memory = std::make_unique<char[]>(made->bytes.size() + 256);
      made->at = made->memory.get() + (256 - reinterpret_cast<uintptr_t>(made->memory.get()) % 256);
      if (took("=")) initial(made.get(), d.element);
      std::memcpy(made->at, made->bytes.data(), made->bytes.size());
      scopes_[0].symbols[d.name] = {Symbol::kVariable, 0, d.bytes, made.get()};
      module_->variables.push_back(std::move(made));
    }
    external_ = false;
    expect(";");
  }
  void initial(Variable* variable, int element) {
    size_t to = 0;
    const auto one = [&] {
      const uint64_t value = number();
      if (to + static_cast<size_t>(element) > variable->bytes.size())
        wrong("more values than " + variable->name + " has");
      std::memcpy(variable->bytes.data() + to, &value, static_cast<size_t>(element));
      to += static_cast<size_t>(element);
    };
    if (!took("{")) return one();
    while (!took("}")) {
      if (!took(",")) one();
    }
  }

  // functions ---------------------------------------------------------------------------------------------

  std::vector<Parameter> parameters(int* at) {
    std::vector<Parameter> list;
    if (!took("(")) return list;
    while (!took(")")) {
      if (took(",")) continue;
      expect(".param");
      const Declared d = declared();
      *at = aligned(*at, d.align);
      list.push_back({d.name, *at, d.bytes});
      *at += d.bytes;
    }
    return list;
  }
  void function() {
    external_ = false;
    auto made = std::make_unique<Function>();
    made->entry = take() == ".entry";
    int frame = 0;
    if (!made->entry) made->results = parameters(&frame);
    made->name = word();
    made->parameters = parameters(&frame);
    made->parameter_bytes = frame;
    while (now() != "{" && now() != ";") {
      const std::string_view t = take();
      if (t == ".maxntid" || t == ".reqntid") {
        made->most_threads = static_cast<int>(number());
        while (took(",")) made->most_threads *= static_cast<int>(number());
      }
    }
    if (took(";")) return;  // declared here, defined later
    function_ = made.get();
    frame_ = frame;
    fixups_.clear();
    scopes_.resize(1);
    numbered_.clear();
    scopes_.push_back({0, {}, {}, {}});
    for (const auto* list : {&made->parameters, &made->results})
      for (const Parameter& p : *list)
        scopes_[1].symbols[p.name] = {Symbol::kFrame, p.offset, p.bytes, nullptr};
    expect("{");
    block(1);
    // who comes to the end returns
    Op end;
    end.run = decode("ret", false).run;
    end.line = line();
    made->ops.push_back(end);
    resolve();
    made->frame_bytes = aligned(frame_, 16);
    module_->functions[made->name] = std::move(made);
  }
  void block(int scope) {
    while (!took("}")) statement(scope);
  }
  void statement(int scope) {
    if (took(";")) return;
    if (took("{")) {
      scopes_.push_back({scope, {}, {}, {}});
      return block(static_cast<int>(scopes_.size()) - 1);
    }
    const std::string_view t = now();
    if (t == ".loc") return location();
    if (t == ".pragma") return skip_statement();
    if (t == ".reg") return registers(scope);
    if (t == ".local" || t == ".param" || t == ".shared") return local(scope);
    if (ahead() == ":") {
      const std::string name = word();
      take();
      if (now() == ".branchtargets") return jump_table(name, scope);
      if (now() == ".callprototype" || now() == ".calltargets") return skip_statement();
      scopes_[static_cast<size_t>(scope)].labels[name] = static_cast<int>(function_->ops.size());
      return;
    }
    instruction(scope);
  }
  void location() {
    take();
    file_ = static_cast<int>(number());
    source_line_ = static_cast<int>(number());
    skip_rest_of_line();
  }
  void registers(int scope) {
    take();
    while (now().substr(0, 1) == ".") take();
    do {
      const std::string name = word();
      if (took("<")) {
        const int count = static_cast<int>(number());
        expect(">");
        // of the outermost scope alone: inner ones name theirs
        if (scope != 1) wrong("numbered registers in an inner scope");
        numbered_[name] = {function_->registers, count};
        function_->registers += count;
      } else {
        scopes_[static_cast<size_t>(scope)].symbols[name] = {Symbol::kRegister, function_->registers++, 8,
                                                             nullptr};
      }
    } while (took(","));
    expect(";");
  }
  void local(int scope) {
    const bool shared = take() == ".shared";
    const Declared d = declared();
    Symbol symbol{shared ? Symbol::kShared : Symbol::kFrame, 0, d.bytes, nullptr};
    int* const end = shared ? &module_->shared_bytes : &frame_;
    symbol.at = aligned(*end, d.align);
    *end = static_cast<int>(symbol.at) + d.bytes;
    scopes_[static_cast<size_t>(scope)].symbols[d.name] = symbol;
    expect(";");
  }
  void jump_table(const std::string& name, int scope) {
    take();
    std::vector<std::string> labels;
    do labels.push_back(word());
    while (took(","));
    expect(";");
    scopes_[static_cast<size_t>(scope)].tables[name] = static_cast<int>(tables_.size());
    tables_.push_back({std::move(labels), scope});
  }

  const Symbol* find(const std::string& name, int scope) {
    for (int s = scope; s >= 0; s = scopes_[static_cast<size_t>(s)].parent) {
      const auto& symbols = scopes_[static_cast<size_t>(s)].symbols;
      if (const auto found = symbols.find(name); found != symbols.end()) return &found->second;
    }
    return nullptr;
  }
  // a register, by name
  bool register_of(const std::string& name, int scope, Ref* ref) {
    if (const Symbol* symbol = find(name, scope)) {
      if (symbol->kind != Symbol::kRegister) return false;
      *ref = static_cast<Ref>(symbol->at);
      return true;
    }
    size_t digits = name.size();
    while (digits > 0 && std::isdigit(static_cast<unsigned char>(name[digits - 1]))) --digits;
    if (digits == name.size()) return false;
    const auto found = numbered_.find(name.substr(0, digits));
    if (found == numbered_.end()) return false;
    const int number = std::stoi(name.substr(digits));
    if (number >= found->second.count) wrong("register " + name + " was not declared");
    *ref = found->second.first + number;
    return true;
  }
  Ref constant(uint64_t value) {
    const auto [found, made] =
        pool_.try_emplace(value, static_cast<Ref>(-1 - static_cast<Ref>(module_->constants.size())));
    if (made) module_->constants.push_back(value);
    return found->second;
  }

  struct Fixup {
    size_t op;
    std::string name;
    int scope;
    bool table;
  };
  struct Operand {
    Ref ref = kNone;
    int64_t offset = 0;
    bool frame = false;   // an address in the frame, at offset
    std::string special;  // %tid.x
    std::string label;
  };
  // a register, a number, or a name and what is added to it
  Operand operand(int scope) {
    Operand o;
    if (now() == "-" || is_number(now())) {
      o.ref = constant(number());
      return o;
    }
    const std::string name = word();
    if (name == "_") return o;
    if (register_of(name, scope, &o.ref)) {
    } else if (const Symbol* symbol = find(name, scope)) {
      if (symbol->kind == Symbol::kFrame) {
        o.frame = true;
        o.offset = symbol->at;
      } else if (symbol->kind == Symbol::kVariable) {
        o.ref = constant(reinterpret_cast<uint64_t>(symbol->variable->at));
      } else {
        o.ref = constant(symbol->at < 0 ? static_cast<uint64_t>(dynamic_shared())
                                        : static_cast<uint64_t>(symbol->at));
      }
    } else if (name[0] == '%') {
      o.special = name;
      return o;
    } else {
      o.label = name;
      return o;
    }
    if (took("+")) o.offset += static_cast<int64_t>(number());
    return o;
  }
  // where dynamic shared memory begins; no module that uses it may have variables of its own there, or its
  // place would depend on what comes later in the text
  int dynamic_shared() {
    if (module_->shared_bytes != 0)
      wrong("dynamic shared memory beside variables in shared memory is not simulated");
    return 0;
  }

  void instruction(int scope) {
    Op op;
    op.line = line();
    op.file = file_, op.source_line = source_line_;
    if (took("@")) {
      op.guard_negated = took("!");
      const std::string name = word();
      if (!register_of(name, scope, &op.guard)) wrong("no such predicate: " + name);
    }
    std::string name = word();
    if (name.substr(0, 4) == "call") return call(op, scope);

    std::vector<Ref> refs;
    bool frame = false, braces_first = false, braces_last = false;
    std::string special, label;
    const bool pairs = name.substr(0, 5) == "setp." || name.substr(0, 5) == "shfl.";
    int index = 0;
    while (!took(";")) {
      if (took(",")) continue;
      if (took("{")) {
        (index == 0 ? braces_first : braces_last) = true;
        while (!took("}")) {
          if (!took(",")) refs.push_back(operand(scope).ref);
        }
      } else {
        const bool brackets = took("[");
        if (took("!")) op.negated_source = true;
        const Operand o = operand(scope);
        if (brackets) expect("]");
        if (o.frame) frame = true;
        if (!brackets && !o.frame && o.offset) wrong("a sum that is no address");
        op.offset += o.offset;
        if (!o.special.empty()) special = o.special;
        if (!o.label.empty()) label = o.label;
        refs.push_back(o.ref);
        if (took("|")) {
          refs.push_back(operand(scope).ref);
        } else if (pairs && index == 0) {
          refs.push_back(kNone);
        }
      }
      ++index;
    }
    if (refs.size() > kRefs) wrong("more operands than are simulated");
    if (name.substr(0, 4) == "mov." && braces_first) name = "unpack" + name.substr(3);
    if (name.substr(0, 4) == "mov." && braces_last) name = "pack" + name.substr(3);
    try {
      if (!special.empty()) {
        if (name.substr(0, 4) != "mov.") wrong(special + " in " + name);
        op.run = special_register(special);
      } else {
        const Decoded d = decode(name, frame);
        op.run = d.run, op.together = d.together, op.mode = d.mode, op.stores = d.stores;
      }
    } catch (const PtxError& error) {
      wrong(error.what());
    }
    std::copy(refs.begin(), refs.end(), op.r);
    if (!label.empty()) fixups_.push_back({function_->ops.size(), label, scope, name.substr(0, 3) == "brx"});
    function_->ops.push_back(op);
  }

  void call(Op op, int scope) {
    auto made = std::make_unique<Call>();
    const auto list = [&](std::vector<Passed>* passed) {
      expect("(");
      while (!took(")")) {
        if (took(",")) continue;
        const std::string name = word();
        const Symbol* symbol = find(name, scope);
        if (!symbol || symbol->kind != Symbol::kFrame)
          wrong("'" + name + "' is handed over, and is no parameter");
        passed->push_back({static_cast<int>(symbol->at), 0, symbol->bytes});
      }
    };
    if (now() == "(") {
      list(&made->results);
      expect(",");
    }
    made->name = word();
    if (made->name[0] == '%') wrong("a call by address is not simulated");
    if (took(",") && now() == "(") list(&made->arguments);
    skip_statement();
    op.run = decode("call", false).run;
    op.call = made.get();
    module_->calls.push_back(std::move(made));
    function_->ops.push_back(op);
  }
  void link(Call* call) {
    const auto found = module_->functions.find(call->name);
    if (found == module_->functions.end()) return;  // whoever calls it is told
    call->callee = found->second.get();
    const Function& f = *call->callee;
    if (call->arguments.size() != f.parameters.size() || call->results.size() != f.results.size())
      throw PtxError("PTX: a call of " + call->name + " with another number of parameters than it has");
    for (size_t i = 0; i < f.parameters.size(); ++i) call->arguments[i].to = f.parameters[i].offset;
    for (size_t i = 0; i < f.results.size(); ++i) {
      call->results[i].to = call->results[i].from;
      call->results[i].from = f.results[i].offset;
    }
  }
  void resolve() {
    const auto place = [&](const std::string& label, int scope) {
      for (int s = scope; s > 0; s = scopes_[static_cast<size_t>(s)].parent) {
        const auto& labels = scopes_[static_cast<size_t>(s)].labels;
        if (const auto found = labels.find(label); found != labels.end()) return found->second;
      }
      wrong("no label " + label);
    };
    for (const Fixup& fixup : fixups_) {
      Op& op = function_->ops[fixup.op];
      if (!fixup.table) {
        op.target = place(fixup.name, fixup.scope);
        continue;
      }
      for (int s = fixup.scope; s > 0 && !op.targets; s = scopes_[static_cast<size_t>(s)].parent) {
        const auto& tables = scopes_[static_cast<size_t>(s)].tables;
        const auto found = tables.find(fixup.name);
        if (found == tables.end()) continue;
        auto list = std::make_unique<std::vector<int>>();
        const auto& [labels, scope] = tables_[static_cast<size_t>(found->second)];
        for (const std::string& label : labels) list->push_back(place(label, scope));
        op.targets = list.get();
        module_->jump_tables.push_back(std::move(list));
      }
      if (!op.targets) wrong("no table " + fixup.name);
    }
  }

  std::vector<Token> tokens_;
  size_t at_ = 0;
  std::unique_ptr<Module> module_;
  bool external_ = false;
  Function* function_ = nullptr;
  int frame_ = 0;
  int file_ = 0, source_line_ = 0;
  std::vector<Scope> scopes_;
  std::unordered_map<std::string, Numbered> numbered_;
  std::vector<std::pair<std::vector<std::string>, int>> tables_;
  std::vector<Fixup> fixups_;
  std::unordered_map<uint64_t, Ref> pool_;
};

}  // namespace

std::unique_ptr<Module> read_ptx(const std::string& text) { return Reader(text).read(); }

}  // namespace ptx_interpreter
