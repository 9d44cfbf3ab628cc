// A notice comes back as it was, and nothing else is taken for one.
#include "bodhi/node/change_notice.h"

#include <gtest/gtest.h>

namespace zazen {
namespace {

ChangeNotice frames_notice() {
  return {NoticeKind::kFrames,
          77,
          "n1",
          "/sim1",
          {{"run1/f7", {false, 430'000, 12, 13}, 5}, {"f8", {.gone = true}, 0}}};
}

TEST(ChangeNotice, ComesBack) {
  ChangeNotice hello{NoticeKind::kHello, 1, "n1", "", {}};
  ChangeNotice distrust{NoticeKind::kDistrust, 1, "n1", "/sim1", {}};
  for (const ChangeNotice& notice : {frames_notice(), hello, distrust}) {
    ChangeNotice back;
    ASSERT_TRUE(decode(encode(notice), &back));
    EXPECT_EQ(back, notice);
  }
}

TEST(ChangeNotice, SizesAddUp) {
  ChangeNotice notice = frames_notice();
  std::size_t size = encoded_size(notice);
  for (const FrameNews& news : notice.frames) size += encoded_size(news);
  EXPECT_EQ(encode(notice).size(), size);
}

TEST(ChangeNotice, PartsThatDoNotBelongTogetherAreRefused) {
  ChangeNotice back;
  auto refuses = [&](auto change) {
    ChangeNotice notice = frames_notice();
    change(notice);
    return !decode(encode(notice), &back);
  };
  EXPECT_FALSE(refuses([](ChangeNotice&) {}));
  EXPECT_TRUE(refuses([](ChangeNotice& n) { n.kind = NoticeKind::kHello; }));
  EXPECT_TRUE(refuses([](ChangeNotice& n) { n.kind = NoticeKind::kDistrust; }));
  EXPECT_TRUE(refuses([](ChangeNotice& n) { n.kind = NoticeKind{4}; }));
  EXPECT_TRUE(refuses([](ChangeNotice& n) { n.frames.clear(); }));
  EXPECT_TRUE(refuses([](ChangeNotice& n) { n.dataset = "sim1"; }));
  EXPECT_TRUE(refuses([](ChangeNotice& n) { n.dataset = ""; }));
  EXPECT_TRUE(refuses([](ChangeNotice& n) { n.dataset = std::string("/s\0", 3); }));
  EXPECT_TRUE(refuses([](ChangeNotice& n) { n.dataset = "/" + std::string(kMaxPath, 'x'); }));
  EXPECT_TRUE(refuses([](ChangeNotice& n) { n.node = ""; }));
  EXPECT_TRUE(refuses([](ChangeNotice& n) { n.node = std::string(kMaxNodeName, 'n'); }));
  EXPECT_TRUE(refuses([](ChangeNotice& n) { n.frames[0].name = ""; }));
  EXPECT_TRUE(refuses([](ChangeNotice& n) { n.frames[0].name = std::string("f\0", 2); }));
  EXPECT_TRUE(refuses([](ChangeNotice& n) { n.frames[1].version.size = 1; })) << "it is gone";
  EXPECT_TRUE(refuses([](ChangeNotice& n) {
    n.frames.assign(kLongestNotice / 32, {"f1", {}, 0});
  })) << "too long";
}

TEST(ChangeNotice, BytesTooFewOrTooManyAreRefused) {
  const std::string body = encode(frames_notice());
  ChangeNotice back;
  for (std::size_t size = 0; size < body.size(); ++size) {
    EXPECT_FALSE(decode(body.substr(0, size), &back)) << size;
  }
  EXPECT_FALSE(decode(body + "x", &back));
}

}  // namespace
}  // namespace zazen
