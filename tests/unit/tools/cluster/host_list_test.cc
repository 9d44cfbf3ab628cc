#include "tools/cluster/host_list.h"

#include <gtest/gtest.h>

namespace zazen {
namespace {

using Hosts = std::vector<std::string>;

Hosts expanded(std::string_view list) {
  Result<Hosts> hosts = expand_host_list(list);
  return hosts ? *hosts : Hosts{"error: " + hosts.error().context};
}

TEST(HostList, RangesAreExpandedInTheirOrder) {
  EXPECT_EQ(expanded("n0"), Hosts({"n0"}));
  EXPECT_EQ(expanded("n[0-2,7],login"), Hosts({"n0", "n1", "n2", "n7", "login"}));
  EXPECT_EQ(expanded("n[08-11]"), Hosts({"n08", "n09", "n10", "n11"}));
  EXPECT_EQ(expanded("r[1-2]n[0-1]x"), Hosts({"r1n0x", "r1n1x", "r2n0x", "r2n1x"}));
  EXPECT_EQ(expanded("n[0-1]:7117,,m"), Hosts({"n0:7117", "n1:7117", "m"}));
  EXPECT_EQ(expanded("n1,n[0-2],n1"), Hosts({"n1", "n0", "n2"}));
}

TEST(HostList, AddressesStayAsTheyAre) {
  EXPECT_EQ(expanded("unix:/run/zazen[1],[::1]:7117"),
            Hosts({"unix:/run/zazen[1]", "[::1]:7117"}));
}

TEST(HostList, NonsenseIsRefused) {
  for (const char* list :
       {"", ",", "n[", "n[]", "n[1", "n[a-b]", "n[2-1]", "n[-1]", "n[1-]", "n[1-2", "n[0-4096]",
        "n[0-99][0-99]", "n[0-4000],m[0-4000]", "n[4294967296]"}) {
    EXPECT_TRUE(expanded(list).front().starts_with("error: ")) << list;
  }
  EXPECT_EQ(expanded("n[0-4095]").size(), kMostNodes);
}

}  // namespace
}  // namespace zazen
