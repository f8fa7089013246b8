// The table of options: each with its member, its allowed range or words, from the rows of options.inl.
#include "host/model/options_table.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <sstream>
#include <stdexcept>
#include <type_traits>
#include <utility>

#include "host/model/contact_law.h"

namespace dualstep {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

struct Word {
  const char* name;
  int value;
  const char* deprecated;  // another word for it, which still works

  template <class E>
  Word(const char* word, E which, const char* before = "")
      : name(word), value(static_cast<int>(which)), deprecated(before) {}
};

// what an option takes
struct Allowed {
  enum Kind { kNumber, kInteger, kFlag, kWord, kArray, kNumberOrNone } kind;
  double low, high;
  bool open = false;  // low itself is not allowed
  std::vector<Word> words = {};
  bool even = false;  // even numbers alone, and no 2
};
Allowed number(double low = -kInf, double high = kInf) { return {Allowed::kNumber, low, high}; }
Allowed above(double low) { return {Allowed::kNumber, low, kInf, true}; }
Allowed integer(double low, double high) { return {Allowed::kInteger, low, high}; }
// directions in which each has its opposite beside it, at least two such pairs; 0 is all directions, a circle
Allowed directions(double high) { return {Allowed::kInteger, 0, high, false, {}, true}; }
Allowed flag() { return {Allowed::kFlag, 0, 1}; }
Allowed words(std::vector<Word> list) { return {Allowed::kWord, 0, 0, false, std::move(list)}; }
Allowed array(double low = -kInf) { return {Allowed::kArray, low, kInf}; }
Allowed number_or_none(double low) { return {Allowed::kNumberOrNone, low, kInf}; }
std::vector<Word> contact_model_words() {
  std::vector<Word> list;
  for (const ContactModelTraits& model : contact_models())
    list.push_back({model.word, static_cast<int>(list.size())});
  return list;
}

// one option, reached through plain functions so that members of all types share one table
struct Entry : Allowed {
  std::string name;
  double (*get)(const Options&);
  void (*set)(Options&, double);
  double* (*array)(Options&, int*);
};

template <class T, T Options::*member>
Entry entry(const char* name, const Allowed& takes) {
  if constexpr (std::is_class_v<T>) {
    return {takes, name, nullptr, nullptr, [](Options& o, int* n) {
              *n = static_cast<int>((o.*member).size());
              return (o.*member).data();
            }};
  } else {
    return {takes, name, [](const Options& o) { return static_cast<double>(o.*member); },
            [](Options& o, double v) { o.*member = static_cast<T>(v); }, nullptr};
  }
}

const std::vector<Entry>& table() {
  static const std::vector<Entry> entries = {
#define USER_OPTION(type, name, fallback, ...) entry<type, &Options::name>(#name, __VA_ARGS__),
#include "host/model/options.inl"
  };
  return entries;
}

const Entry& find(const std::string& name) {
  for (const Entry& e : table()) {
    if (e.name == name) return e;
  }
  std::string message = "there is no option '" + name + "'";
  const std::string near = nearest_name(name, option_names());
  if (!near.empty()) message += "; did you mean '" + near + "'?";
  throw std::invalid_argument(message);
}

std::string show(double v) {
  std::ostringstream out;
  out << v;
  return out.str();
}

std::string show(const OptionValue& value) {
  if (std::holds_alternative<std::monostate>(value)) return "None";
  if (const bool* b = std::get_if<bool>(&value)) return *b ? "True" : "False";
  if (const long* i = std::get_if<long>(&value)) return std::to_string(*i);
  if (const double* d = std::get_if<double>(&value)) return show(*d);
  if (const std::string* s = std::get_if<std::string>(&value)) return "'" + *s + "'";
  std::string text = "[";
  for (double v : std::get<std::vector<double>>(value)) text += (text.size() > 1 ? ", " : "") + show(v);
  return text + "]";
}

// what an option takes, in words
std::string allowed(const Entry& e, int array_size) {
  if (e.kind == Entry::kWord) {
    std::string text = "one of ";
    for (size_t i = 0; i < e.words.size(); ++i) text += std::string(i ? ", '" : "'") + e.words[i].name + "'";
    return text;
  }
  if (e.kind == Entry::kFlag) return "True or False";
  std::string text = e.kind == Entry::kInteger ? "an integer" : "a finite number";
  if (e.kind == Entry::kArray) text = std::to_string(array_size) + " finite numbers";
  if (e.low > -kInf && e.high < kInf) {
    text += (e.open ? " above " : " from ") + show(e.low) + " to " + show(e.high);
  } else if (e.low > -kInf) {
    text += e.open ? " above " + show(e.low) : ", at least " + show(e.low);
  }
  if (e.even) text += ", even; 0 is the circular cone";
  return e.kind == Entry::kNumberOrNone ? text + ", or None" : text;
}

bool in_range(const Entry& e, double v) {
  if (!std::isfinite(v) || v > e.high || v < e.low || (e.open && v == e.low)) return false;
  if (e.even) return v == 0 || (v >= 4 && std::fmod(v, 2) == 0);
  return true;
}

// the number behind a scalar value, if it has one
bool scalar(const OptionValue& value, double* out) {
  if (const bool* b = std::get_if<bool>(&value)) return *out = *b ? 1 : 0, true;
  if (const long* i = std::get_if<long>(&value)) return *out = static_cast<double>(*i), true;
  if (const double* d = std::get_if<double>(&value)) return *out = *d, true;
  const auto* a = std::get_if<std::vector<double>>(&value);
  return a && a->size() == 1 ? (*out = (*a)[0], true) : false;
}

// whether `value` suits the option; then *out is its number (unused for arrays)
bool accept(const Entry& e, const OptionValue& value, int array_size, double* out) {
  if (e.kind == Entry::kArray) {
    const auto* a = std::get_if<std::vector<double>>(&value);
    return a && static_cast<int>(a->size()) == array_size &&
           std::all_of(a->begin(), a->end(), [&](double v) { return in_range(e, v); });
  }
  if (e.kind == Entry::kNumberOrNone && std::holds_alternative<std::monostate>(value)) return *out = -1, true;
  if (e.kind == Entry::kWord) {
    for (const Word& w : e.words) {
      const std::string* s = std::get_if<std::string>(&value);
      double number = 0;
      if ((s && (*s == w.name || *s == w.deprecated)) ||
          (scalar(value, &number) && !std::holds_alternative<bool>(value) && number == w.value)) {
        return *out = w.value, true;
      }
    }
    return false;
  }
  if (!scalar(value, out)) return false;
  if (e.kind == Entry::kFlag) return *out == 0 || *out == 1;
  if (std::holds_alternative<bool>(value)) return false;
  if (e.kind == Entry::kInteger && *out != std::floor(*out)) return false;
  return in_range(e, *out);
}

int array_size(const Entry& e) {
  int n = 0;
  Options scratch;
  if (e.array) e.array(scratch, &n);
  return n;
}

}  // namespace

std::vector<std::string> option_names() {
  std::vector<std::string> names;
  for (const Entry& e : table()) names.push_back(e.name);
  return names;
}

OptionValue get_option(const Options& options, const std::string& name) {
  const Entry& e = find(name);
  if (e.kind == Entry::kArray) {
    int n = 0;
    Options copy = options;
    const double* p = e.array(copy, &n);
    return std::vector<double>(p, p + n);
  }
  const double v = e.get(options);
  switch (e.kind) {
    case Entry::kFlag:
      return v != 0;
    case Entry::kInteger:
      return static_cast<long>(v);
    case Entry::kNumberOrNone:
      if (v < 0) return std::monostate{};
      return v;
    case Entry::kWord:
      for (const Word& w : e.words) {
        if (w.value == static_cast<int>(v)) return std::string(w.name);
      }
      return static_cast<long>(v);
    default:
      return v;
  }
}

std::vector<double> option_numbers(const Options& options) {
  Options own = options;  // arrays are reached through what may be changed
  std::vector<double> numbers;
  for (const Entry& e : table()) {
    if (e.kind != Entry::kArray) {
      numbers.push_back(e.get(options));
      continue;
    }
    int count = 0;
    const double* entries = e.array(own, &count);
    numbers.insert(numbers.end(), entries, entries + count);
  }
  return numbers;
}

double* option_array(Options& options, const std::string& name, int* count) {
  const Entry& e = find(name);
  return e.array ? e.array(options, count) : nullptr;
}

void set_option(Options& options, const std::string& name, const OptionValue& value) {
  const Entry& e = find(name);
  const int n = array_size(e);
  double number = 0;
  if (!accept(e, value, n, &number)) {
    throw std::invalid_argument("option '" + name + "' is given " + show(value) + "; it takes " +
                                allowed(e, n));
  }
  if (e.kind == Entry::kArray) {
    const auto& from = std::get<std::vector<double>>(value);
    int count = 0;
    std::copy(from.begin(), from.end(), e.array(options, &count));
  } else {
    e.set(options, number);
  }
}

std::string replacement_of(const std::string& name, const std::string& word) {
  for (const Word& w : find(name).words) {
    if (!word.empty() && word == w.deprecated) return w.name;
  }
  return "";
}

std::vector<std::pair<std::string, std::string>> invalid_options(const Options& options) {
  std::vector<std::pair<std::string, std::string>> found;
  for (const Entry& e : table()) {
    const OptionValue value = get_option(options, e.name);
    const int n = array_size(e);
    double number = 0;
    if (!accept(e, value, n, &number))
      found.emplace_back(e.name, "is " + show(value) + ", must be " + allowed(e, n));
  }
  return found;
}

std::string nearest_name(const std::string& word, const std::vector<std::string>& names) {
  std::string best;
  size_t best_distance = 2 + word.size() / 3;
  for (const std::string& name : names) {
    // edit distance, one row at a time
    std::vector<size_t> row(name.size() + 1);
    for (size_t j = 0; j <= name.size(); ++j) row[j] = j;
    for (size_t i = 1; i <= word.size(); ++i) {
      size_t diagonal = row[0];
      row[0] = i;
      for (size_t j = 1; j <= name.size(); ++j) {
        const size_t substituted = diagonal + (word[i - 1] != name[j - 1]);
        diagonal = row[j];
        row[j] = std::min({row[j] + 1, row[j - 1] + 1, substituted});
      }
    }
    if (row[name.size()] < best_distance) {
      best_distance = row[name.size()];
      best = name;
      if (best_distance == 0) break;
    }
  }
  return best;
}

}  // namespace dualstep
