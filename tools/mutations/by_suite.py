"""Deliberate faults that suites other than `make test` find first or best."""

from tools.mutations.mutation import Mutation

SCRIPTS = (
    Mutation(
        "Services do not access a database directly",
        "src/imprint/services/access/reads.py",
        "import sys\n",
        "import sqlite3\nimport sys\n",
        "check",
        command=("lint-imports", "--no-cache"),
    ),
    Mutation(
        "A late response never shows one account's drafts to another",
        "site/studio/store/draft-list.ts",
        "    if (this.begun !== begun) return;\n",
        "",
        "check",
        command=("npm", "--prefix", "site", "test"),
    ),
    Mutation(
        "Results for one account are not shown after switching to another",
        "site/reader/gate/reducer.ts",
        "      if (event.turn === state.turn) return advance(state, event);\n",
        "      if (event.turn <= state.turn) return advance(state, event);\n",
        "check",
        command=("npm", "--prefix", "site", "test"),
    ),
    Mutation(
        "A draft that may have been saved is not signed again",
        "clients/typescript/src/writer.ts",
        "unknown ||= error.status !== 429;",
        "unknown ||= error.status === 429;",
        "test-clients",
        command=("npm", "--prefix", "clients/typescript", "test"),
    ),
    Mutation(
        "Pages may call the service they come from",
        "src/imprint/web/site/policy.py",
        "            f\"connect-src 'self'{origin}\",\n",
        '            f"connect-src{origin}",\n',
        "test-browser",
        ("tests/browser/test_reading.py::test_a_post_is_locked_then_bought_and_read",),
    ),
)
"""Faults found by static checks, TypeScript tests and browser tests."""

RANDOM = (
    Mutation(
        "Responses match the OpenAPI description",
        "src/imprint/interface/drafts.py",
        '    size: Annotated[Count, doc("Bytes of the stored document.")]\n',
        '    size: Annotated[str, doc("Bytes of the stored document.")]\n',
        "fuzz",
        ("tests/fuzz/test_description.py::test_every_response_matches_the_api_description",),
    ),
    Mutation(
        "A reorg leaves no trace in the totals",
        "src/imprint/adapters/stores/posts/index_writer.py",
        "    for table in _TABLES:\n        restored =",
        "    for table in _TABLES[:-1]:\n        restored =",
        "simulate",
        ("tests/simulation/test_seeds.py",),
    ),
    Mutation(
        "A draft whose document could not be stored is not acknowledged",
        "src/imprint/services/drafts/drafts.py",
        "            self.health.note(Code.STORAGE_UNAVAILABLE, problem)\n            raise\n",
        "            self.health.note(Code.STORAGE_UNAVAILABLE, problem)\n",
        "simulate",
        ("tests/simulation/test_seeds.py",),
    ),
    Mutation(
        "A former holder loses access when the cached decision expires",
        "src/imprint/services/access/entitlement.py",
        "        if grant is not None and self.monotonic() < grant.until and _describes",
        "        if grant is not None and _describes",
        "simulate",
        ("tests/simulation/test_seeds.py",),
    ),
    Mutation(
        "A client generated from the OpenAPI description sends its session",
        "src/imprint/web/docs/content.py",
        '    parameters=(Parameter("cid", "AnyCid", "The draft\'s cid.", CID), IF_NONE_MATCH),\n'
        "    needs_session=True,\n",
        '    parameters=(Parameter("cid", "AnyCid", "The draft\'s cid.", CID), IF_NONE_MATCH),\n',
        "test-generators",
        ("tests/generators/test_clients.py::test_a_typescript_client_can_publish_and_read_a_post",),
    ),
)
"""Faults found with random values, or with generated clients."""

DISASTERS = (
    Mutation(
        "A write is on disk before it is acknowledged",
        "src/imprint/adapters/database/sqlite/database.py",
        "{'FULL' if durable else 'NORMAL'}",
        "{'NORMAL' if durable else 'OFF'}",
        "test-crash",
        ("tests/crash/test_durability.py",),
    ),
    Mutation(
        "A power loss reverts no response that any client has seen",
        "src/imprint/adapters/database/sqlite/database.py",
        "{'FULL' if durable else 'NORMAL'}",
        "{'NORMAL' if durable else 'OFF'}",
        "test-histories",
        (
            "tests/histories/test_histories.py::test_a_history_with_embedded_documents_fits_the_model[sqlite]",
        ),
    ),
    Mutation(
        "A large document is on disk before it is renamed into place",
        "src/imprint/adapters/content/document_files.py",
        "            os.fsync(descriptor)\n",
        "",
        "test-crash",
        ("tests/crash/test_durability.py",),
    ),
    Mutation(
        "An interrupted write leaves no document behind",
        "src/imprint/services/drafts/drafts.py",
        "        reserved = await begin(intent)\n",
        "        await self.content.put(intent.cid, made.document, intent.network)\n"
        "        reserved = await begin(intent)\n",
        "test-crash",
        ("tests/crash/test_failpoints.py::test_a_write_interrupted_by_a_crash_is_all_or_nothing",),
    ),
    Mutation(
        "No write to a deleted database is acknowledged",
        "src/imprint/adapters/database/sqlite/database.py",
        "            self._files.check()\n        self.commits += 1\n",
        "            pass\n        self.commits += 1\n",
        "test-faults",
        (
            "tests/faults/test_deleted_files.py::test_a_kill_after_database_files_vanish_loses_no_acknowledged_writes",
        ),
    ),
    Mutation(
        "Workers exit when their supervisor exits",
        "src/imprint/server/link.py",
        "        self.listen()\n        os.kill(os.getpid(), signal.SIGTERM)\n",
        "        self.listen()\n        stop_seconds += 3600\n",
        "test-faults",
        ("tests/faults/test_restarts.py::test_workers_exit_when_their_supervisor_is_killed",),
    ),
    Mutation(
        "All addresses in one IPv6 /64 count as one client",
        "src/imprint/domain/rate_limits.py",
        "CLIENT_PREFIX = 64\n",
        "CLIENT_PREFIX = 128\n",
        "test-hostile",
        (
            "tests/hostile/test_attacks.py::test_an_attack_does_not_stop_other_clients[forwarded-addresses]",
        ),
    ),
    Mutation(
        "Texts are converted off the event loop",
        "src/imprint/services/content/text_conversions.py",
        "                made = await asyncio.to_thread(convert, await load(), running.work)\n",
        "                made = convert(await load(), running.work)\n",
        "test-hostile",
        ("tests/hostile/test_watchdog.py::test_no_request_blocks_the_event_loop[emphasis-sqlite]",),
    ),
)
"""Faults found by killing processes, injecting failures, and attacking the service."""

NEIGHBOURS = (
    Mutation(
        "The deployed contract matches the published source",
        "contracts/PostMarket.sol",
        "        if (msg.value < price) revert PaymentTooLow(msg.value, price);\n",
        "",
        "test-chain",
        command=("npm", "--prefix", "contracts", "run", "check"),
    ),
    Mutation(
        "A lagging node does not give a former holder access",
        "src/imprint/adapters/chain/json_rpc.py",
        "            if (blocks > MAX_LAG_BLOCKS or late) and now - seen_at < HEAD_VALIDITY:\n",
        "            if blocks > 1000 * MAX_LAG_BLOCKS and now - seen_at < HEAD_VALIDITY:\n",
        "test-chain",
        (
            "tests/anvil/test_hostile_chain.py"
            "::test_a_lagging_preferred_node_does_not_grant_access_to_a_former_holder",
        ),
    ),
    Mutation(
        "A thumbnail shared with another installation on the same node is kept",
        "src/imprint/adapters/content/kubo.py",
        "                installations.add(installation)\n",
        "                installations.add(self._identity.id)\n",
        "test",
        ("tests/adapters/content/test_kubo_installations.py",),
    ),
    Mutation(
        "A bucket whose private documents are publicly readable is refused",
        "src/imprint/adapters/content/bucket.py",
        "        if found is not None:\n            raise StoreMisconfigured(\n",
        "        if found is not None and not found.data:\n            raise StoreMisconfigured(\n",
        "test-s3",
        (
            "tests/s3/test_starts.py"
            "::test_a_public_bucket_is_refused_unless_documents_are_encrypted",
        ),
    ),
    Mutation(
        "The Pinata test double supports the queries of Pinata's own client",
        "tests/adapters/content/pinata_fake.py",
        '            and each["keyvalues"] | wanted == each["keyvalues"]\n',
        "",
        "test-pinata",
        ("tests/pinata_sdk/test_sdk.py",),
    ),
    Mutation(
        "The wheel contains every file that the service reads",
        "pyproject.toml",
        'packages = ["src/imprint"]\n',
        'packages = ["src/imprint"]\nexclude = ["*.sql"]\n',
        "test-wheel",
        ("tests/wheel/test_distributions.py::test_the_wheel_contains_only_the_package",),
    ),
    Mutation(
        "A client behind nginx cannot spoof its address",
        "deploy/nginx/imprint.conf",
        "        proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;\n",
        "        proxy_set_header X-Forwarded-For $http_x_forwarded_for;\n",
        "test-proxies",
        (
            "tests/deploy/test_proxies_upstream.py"
            "::test_rate_limits_apply_to_the_client_address_seen_by_the_proxy[nginx]",
        ),
    ),
    Mutation(
        "The Compose deployment trusts only its own proxy",
        "deploy/compose.yaml",
        "      IMPRINT_TRUSTED_PROXIES: 10.213.7.0/24\n",
        "      IMPRINT_TRUSTED_PROXIES: 10.0.0.0/8\n",
        "test-deploy",
        ("tests/deploy/test_compose.py::test_only_the_proxy_network_is_trusted",),
    ),
)
"""Faults found with other programs: nodes, stores, proxies, installers."""

OF_SUITES: tuple[Mutation, ...] = (*SCRIPTS, *RANDOM, *DISASTERS, *NEIGHBOURS)
