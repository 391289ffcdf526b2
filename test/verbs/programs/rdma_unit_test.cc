/* SPDX-License-Identifier: BSD-2-Clause */
/* The main() of google/rdma-unit-test, in the place of its own (unit/gunit_main.cc), which knows four adapters: the
 * suite asks whoever registers for a device's name what that device does beyond the least that it expects. */
#include <string>

#include "absl/container/flat_hash_map.h"
#include "absl/flags/parse.h"
#include "absl/log/initialize.h"
#include "gtest/gtest.h"
#include "infiniband/verbs.h"
#include "internal/introspection_registrar.h"
#include "public/introspection.h"

namespace {

class Nornic : public rdma_unit_test::NicIntrospection {
public:
    using NicIntrospection::NicIntrospection;
    bool SupportsReRegMr() const override
    {
        return true;
    }
    /* It is answered by a NAK. */
    bool NoNakOnSendInvalidateErrors() const override
    {
        return false;
    }

protected:
    /* Of the suite's own exceptions none is asked for. */
    const absl::flat_hash_map<TestcaseKey, std::string> &GetDeviations() const override
    {
        static const absl::flat_hash_map<TestcaseKey, std::string> none;
        return none;
    }
};

} // namespace

int main(int argc, char **argv)
{
    testing::InitGoogleTest(&argc, argv);
    absl::InitializeLog();
    absl::ParseCommandLine(argc, argv);
    rdma_unit_test::IntrospectionRegistrar::GetInstance().Register(
        "nornic", [](const std::string &name, const ibv_device_attr &attr) { return new Nornic(name, attr); });
    return RUN_ALL_TESTS();
}
