// PTX ISA, "Control Flow Instructions", and trap.
#include "instructions/instruction.h"

namespace ptx_interpreter {
namespace {

void jump(Thread& t, const Op& o) { t.next = t.function->ops.data() + o.target; }
void jump_by_number(Thread& t, const Op& o) {
  const u32 which = get<u32>(t, o.r[0]);
  if (which >= o.targets->size()) fault(t, "a jump to number " + std::to_string(which) + " of a table");
  t.next = t.function->ops.data() + (*o.targets)[which];
}
// behind the frame of the present call
char* next_frame(Thread& t) {
  char* const end = t.memory + t.function->frame_bytes;
  return reinterpret_cast<char*>((reinterpret_cast<uintptr_t>(end) + 15) / 16 * 16);
}
void call(Thread& t, const Op& o) {
  if (!o.call->callee) fault(t, "a call of " + o.call->name + ", which the module does not have");
  const Function& callee = *o.call->callee;
  char* const frame = next_frame(t);
  const size_t registers = (sizeof(u64) * static_cast<size_t>(callee.registers) + 15) / 16 * 16;
  if (frame + registers + callee.frame_bytes + 4096 > t.stack_top)
    fault(t, "the stack has no memory for another call");
  t.callers.push_back({t.function, t.registers, t.memory, static_cast<int>(t.next - t.function->ops.data())});
  char* const memory = frame + registers;
  // what nobody has written is no number
  std::memset(memory, 0xff, static_cast<size_t>(callee.frame_bytes));
  for (const Passed& p : o.call->arguments)
    std::memcpy(memory + p.to, t.memory + p.from, static_cast<size_t>(p.bytes));
  t.registers = reinterpret_cast<u64*>(frame);
  t.memory = memory;
  t.function = &callee;
  t.next = callee.ops.data();
}
void leave(Thread& t, const Op&) {
  t.state = State::kLeft;
  t.stopped = true;
}
void give_back(Thread& t, const Op& o) {
  if (t.callers.empty()) return leave(t, o);
  const char* const from = t.memory;
  const Frame caller = t.callers.back();
  t.callers.pop_back();
  t.function = caller.function, t.registers = caller.registers, t.memory = caller.memory;
  t.next = t.function->ops.data() + caller.pc;
  for (const Passed& p : t.next[-1].call->results)
    std::memcpy(t.memory + p.to, from + p.from, static_cast<size_t>(p.bytes));
}
void trap(Thread& t, const Op&) { fault(t, "the program stops itself (trap)"); }

Decoded decode_brx(const Name& name) {
  if (!name.has("idx")) unknown(name.whole);
  return plain(jump_by_number);
}

}  // namespace

const Chapter& control_flow() {
  static const Chapter kChapter = {
      {"bra", always<jump>},      {"brx", decode_brx},     {"call", always<call>},
      {"ret", always<give_back>}, {"exit", always<leave>}, {"trap", always<trap>},
  };
  return kChapter;
}

}  // namespace ptx_interpreter
