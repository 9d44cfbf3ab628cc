// The messages between the ranks of a job; the first byte says which message it is. A refusal
// is an exception, or for a fragment an error; an accepted message can be encoded again.
#include "coord/ranks/job_messages.h"

#include <stdexcept>

#include "coord/audit/tally_fragment.h"
#include "tests/fuzz/demand.h"

using namespace zazen;

namespace {

constexpr std::uint64_t kFramesOfTheJob = 1 << 16;

void check_fragment(const std::string& bytes) {
  Result<Fragment> fragment = decode_fragment(bytes, kFramesOfTheJob);
  if (!fragment.ok()) return;
  for (const DatasetFragment& dataset : fragment->datasets) {
    dataset.touched();
    dataset.read();
  }
  Result<Fragment> again = decode_fragment(encode_fragment(*fragment), kFramesOfTheJob);
  demand(again.ok() && *again == *fragment);
}

void check_message(int which, const std::string& bytes) {
  switch (which) {
    case 0:
      demand(encode_introduction(decode_introduction(bytes)).size() == bytes.size());
      break;
    case 1:
      demand(encode_datasets(decode_datasets(bytes)) == bytes);
      break;
    case 2:
      demand(encode_opening(decode_opening(bytes)) == bytes);
      break;
    case 3:
      demand(encode_listing_answer(decode_listing_answer(bytes)) == bytes);
      break;
    default:
      check_fragment(bytes);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  try {
    check_message(data[0] % 5, std::string(as_text(data + 1, size - 1)));
  } catch (const std::runtime_error&) {
  }
  return 0;
}
