"""Deliberate faults in limits, chain handling, stored data and operation."""

from tools.mutations.mutation import Mutation

LIMITS = (
    Mutation(
        "A signer cannot exceed their quota",
        "src/imprint/adapters/stores/drafts/drafts.py",
        "    max_bytes, max_drafts = quota.bytes or NO_LIMIT, quota.drafts or NO_LIMIT\n",
        "    max_bytes, max_drafts = NO_LIMIT, NO_LIMIT\n",
        "test",
        ("tests/web/api/test_quotas.py",),
    ),
    Mutation(
        "A client that sends too many requests is refused",
        "src/imprint/web/http/middleware.py",
        "                limiter.admit(body.client, limits.monotonic())\n",
        "                limiter.admit(new_id(), limits.monotonic())\n",
        "test",
        ("tests/web/http/test_middleware.py::test_a_rate_limited_client_learns_when_to_retry",),
    ),
    Mutation(
        "X-Forwarded-For is accepted only from trusted proxies",
        "src/imprint/web/http/proxies.py",
        "            if client not in self:\n                break\n",
        "",
        "test",
        ("tests/web/http/test_proxies.py",),
    ),
    Mutation(
        "A body without a declared length is cut off at its limit",
        "src/imprint/web/http/requests.py",
        "            if size > self.limit:\n                raise self.too_large()\n",
        "",
        "test",
        ("tests/web/http/test_requests.py::test_a_streamed_body_is_cut_off_at_its_limit",),
    ),
    Mutation(
        "A picture with too many pixels is refused before it is decoded",
        "src/imprint/adapters/images/recoder.py",
        "    if width * height > most or max(width, height) > MAX_SIDE:\n",
        "    if max(width, height) > MAX_SIDE:\n",
        "test",
        ("tests/adapters/images/test_recoder_hostile.py",),
    ),
    Mutation(
        "A search that takes too long is interrupted",
        "src/imprint/adapters/database/sqlite/database.py",
        "            return _run_within("
        "_LONGEST_SEARCH, self._searching, self._searcher, rule, args)\n",
        "            return run_rule(self._searcher, rule, args)\n",
        "test",
        (
            "tests/adapters/database/sqlite/test_database.py"
            "::test_a_slow_search_for_a_phrase_without_matches_is_interrupted",
        ),
    ),
    Mutation(
        "A private feed that nobody fetches is deleted",
        "src/imprint/services/drafts/garbage_collector.py",
        "            await self.garbage.prune_feeds(now - FEED_MEMORY)\n",
        "",
        "test",
        ("tests/web/api/test_private_feeds.py::test_a_feed_is_kept_as_long_as_it_is_fetched",),
    ),
    Mutation(
        "A static site shows the moment when its export began",
        "src/imprint/bootstrap/static_site.py",
        "open_stores(PinnedDatabase(database, snapshot))",
        "adapters.stores",
        "test",
        (
            "tests/web/site/test_static_site.py::test_a_static_copy_shows_the_site_as_it_was_when_the_export_began",
        ),
    ),
    Mutation(
        "The bytes of a static site do not depend on the day of its export",
        "src/imprint/bootstrap/static_site.py",
        "clock=lambda: _NO_YEAR",
        "clock=adapters.clock",
        "test",
        (
            "tests/web/site/test_static_site.py"
            "::test_exporting_the_same_posts_on_another_day_gives_the_same_bytes",
        ),
    ),
    Mutation(
        "The size of a request head is limited",
        "src/imprint/server/connection.py",
        "        if self._head_size > MAX_HEAD_BYTES:\n",
        "        if self._head_size > 100 * MAX_HEAD_BYTES:\n",
        "test",
        (
            "tests/server/test_connection.py::test_a_head_that_is_too_long_is_refused",
            "tests/server/test_connection.py::test_trailers_count_towards_the_head_limit",
        ),
    ),
)
"""Faults in the limits per client."""

CHAIN = (
    Mutation(
        "A delivery that its provider did not sign is refused",
        "src/imprint/adapters/webhooks/signatures.py",
        "        raise signature_refusal()\n\n\ndef check_spelling",
        "        return macs[0].digest()\n\n\ndef check_spelling",
        "test",
        (
            "tests/web/api/test_webhooks.py::test_a_delivery_by_provider_a_without_a_valid_signature_is_refused",
        ),
    ),
    Mutation(
        "A post whose block was replaced is a draft again",
        "src/imprint/services/publication/chain_sync.py",
        "        lost += await self._find_lost(known.values(), head)\n",
        "",
        "test",
        (
            "tests/services/publication/test_chain_sync_reorgs.py"
            "::test_a_post_whose_block_is_replaced_becomes_a_draft_without_a_post_id",
        ),
    ),
    Mutation(
        "A block becomes final only at the configured depth",
        "src/imprint/services/publication/chain_sync.py",
        "        target = head.number - self.reorg_depth\n",
        "        target = head.number - 1\n",
        "test",
        (
            "tests/services/publication/test_chain_sync_reorgs.py"
            "::test_reorgs_of_every_depth_up_to_the_configured_one_are_followed",
        ),
    ),
    Mutation(
        "A log omitted by a node undoes nothing",
        "src/imprint/services/posts/indexer.py",
        "            if not await self.stream.is_canonical(block, one_pass.head):\n",
        "            if await self.stream.is_canonical(block, one_pass.head):\n",
        "test",
        (
            "tests/services/posts/test_indexer.py"
            "::test_a_log_that_a_node_stops_returning_is_not_undone",
        ),
    ),
    Mutation(
        "A block whose logs are disputed does not become final",
        "src/imprint/services/posts/indexer.py",
        "                one_pass.hold(blocks.open_from)\n",
        "                pass\n",
        "test",
        (
            "tests/services/posts/test_indexer.py"
            "::test_a_log_hidden_until_finality_is_found_once_the_node_is_honest",
        ),
    ),
    Mutation(
        "The index counts no sale twice",
        "src/imprint/adapters/stores/posts/index_writer.py",
        "    if await _read_state(tx) != expected:\n        raise IndexMoved\n",
        "",
        "test",
        (
            "tests/services/posts/test_indexer.py::test_two_concurrent_indexers_apply_nothing_twice",
            "tests/adapters/stores/posts/test_index_writer.py"
            "::test_advancing_the_index_from_a_stale_state_is_refused",
        ),
    ),
    Mutation(
        "An author's income is what buyers paid, not the current price",
        "src/imprint/domain/posts/market_ledger.py",
        "volume=author.volume + paid",
        "volume=author.volume + post.price",
        "test",
        ("tests/domain/posts/test_market_ledger.py",),
    ),
    Mutation(
        "A text is not served as a post by another account that names its cid",
        "src/imprint/services/access/entitlement.py",
        "    return entry.exists and entry.author == file.owner and entry.cid == file.cid\n",
        "    return entry.exists and entry.cid == file.cid\n",
        "test",
        (
            "tests/web/api/test_reads.py"
            "::test_an_account_that_gains_a_post_id_by_reorg_cannot_unlock_the_text",
        ),
    ),
)
"""Faults in chain handling."""

STORAGE = (
    Mutation(
        "A document is served only if its bytes match its cid",
        "src/imprint/adapters/content/embedded.py",
        "            return None if found is None else verify_document(cid, found, network)\n",
        "            return found\n",
        "test",
        (
            "tests/web/api/test_corruption.py::test_a_document_replaced_by_another_owners_document_is_never_served",
        ),
    ),
    Mutation(
        "An object store failure is an outage, not a missing document",
        "src/imprint/adapters/content/bucket_client.py",
        "            return await self._repeat(send, deadline)\n        except _Missing:\n",
        "            return await self._repeat(send, deadline)\n        except StoreFailure:\n",
        "test",
        ("tests/adapters/content/test_bucket_client.py",),
    ),
    Mutation(
        "A document that a live file references is not destroyed",
        "src/imprint/adapters/stores/drafts/garbage.py",
        "    if await _is_used(tx, cid, network) or await _is_coming(",
        "    if await _is_coming(",
        "test",
        ("tests/adapters/stores/drafts/test_garbage.py",),
    ),
    Mutation(
        "A backup includes thumbnails as well as texts",
        "src/imprint/services/installation/backup.py",
        '    for network in Network:\n        after = ""\n',
        '    for network in (Network.PRIVATE,):\n        after = ""\n',
        "test",
        (
            "tests/services/installation/test_backup.py"
            "::test_a_backup_under_load_has_everything_acknowledged_before_it_began",
        ),
    ),
    Mutation(
        "A backup never overwrites an existing file",
        "src/imprint/adapters/archives/backup_files.py",
        "    if os.path.lexists(path):\n",
        "    if path.is_symlink():\n",
        "test",
        ("tests/services/installation/test_backup.py::test_a_backup_overwrites_nothing",),
    ),
    Mutation(
        "A repair drops records whose checksum is wrong",
        "src/imprint/adapters/database/sqlite/rebuild.py",
        "            return not is_damaged(table, values)\n",
        "            return True\n",
        "test",
        (
            "tests/cli/test_repair.py::test_a_record_missing_from_backups_is_discarded_only_with_consent",
        ),
    ),
    Mutation(
        "A repair without a backup changes nothing if records would be lost",
        "src/imprint/bootstrap/repair.py",
        "        if rebuilt.lost and not may_lose:\n",
        "        if False:\n",
        "test",
        ("tests/cli/test_repair.py::test_an_unreadable_catalog_is_not_discarded_without_a_backup",),
    ),
    Mutation(
        "A release does not open the records of a newer release",
        "src/imprint/adapters/database/schema.py",
        "    if found > known:\n",
        "    if found < 0:\n",
        "test",
        ("tests/adapters/database/test_schema.py",),
    ),
    Mutation(
        "Only serving and upgrading migrate the schema",
        "src/imprint/adapters/database/schema.py",
        "    if 0 < found < known and access is not Access.MIGRATE:\n",
        "    if found < 0:\n",
        "test",
        ("tests/cli/test_cli_access.py",),
    ),
    Mutation(
        "No empty catalog is created next to existing documents",
        "src/imprint/bootstrap/adapters.py",
        "    if owner is None:\n        return\n",
        "    if owner is not None:\n        return\n",
        "test",
        ("tests/cli/test_cli_access.py::test_no_command_creates_a_catalog_for_existing_documents",),
    ),
    Mutation(
        "Read-only commands leave a database's WAL files alone",
        "src/imprint/adapters/database/sqlite/connections.py",
        "mode=ro&readonly_shm=1",
        "mode=ro",
        "test",
        ("tests/cli/test_cli_access.py",),
    ),
    Mutation(
        "A failed migration leaves nothing behind",
        "src/imprint/adapters/database/schema.py",
        "            if migration.number > found:\n                _apply(connection, migration)\n",
        "            if migration.number > found:\n                _apply(connection, migration)\n"
        '                connection.execute("COMMIT")\n'
        '                connection.execute("BEGIN IMMEDIATE")\n',
        "test",
        ("tests/adapters/database/test_schema.py::test_a_failed_migration_leaves_nothing_behind",),
    ),
)
"""Faults in the integrity of stored data."""

OPERATION = (
    Mutation(
        "A service whose database does not respond is not ready",
        "src/imprint/services/installation/readiness.py",
        "    except (Unavailable, TimeoutError):\n        return False\n",
        "    except (Unavailable, TimeoutError):\n        return True\n",
        "test",
        ("tests/services/installation/test_readiness.py",),
    ),
    Mutation(
        "A stopping service finishes serving accepted connections",
        "src/imprint/server/http.py",
        "        await drain_connections(self._connections, self._keep_alive)\n",
        "",
        "test",
        ("tests/server/test_http_drain.py",),
    ),
    Mutation(
        "A worker that dies is replaced",
        "src/imprint/server/supervisor.py",
        '            log.error("worker died and will be replaced", extra=fields)\n'
        "            self._schedule(worker)\n",
        '            log.error("worker died and will be replaced", extra=fields)\n',
        "test-faults",
        (
            "tests/faults/test_workers.py::test_a_killed_worker_is_replaced_and_all_workers_stop_together",
        ),
    ),
    Mutation(
        "Only one process at a time holds a lease",
        "src/imprint/adapters/stores/installation/installation.py",
        "            return row is not None\n",
        "            return True\n",
        "test",
        ("tests/services/tasks/test_leases.py",),
    ),
    Mutation(
        "The OpenAPI description lists every error code of an operation",
        "src/imprint/web/docs/accounts.py",
        "Code.INVALID_LOGIN_MESSAGE, Code.NONCE_USED, ",
        "Code.INVALID_LOGIN_MESSAGE, ",
        "test",
        ("tests/web/api/test_login.py::test_a_login_message_is_accepted_only_once",),
    ),
)
"""Faults in the operation of the service and in its reports about itself."""

OF_SERVICE: tuple[Mutation, ...] = (*LIMITS, *CHAIN, *STORAGE, *OPERATION)
