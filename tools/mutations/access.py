"""Deliberate faults in read and write access, and in confidentiality."""

from tools.mutations.mutation import Mutation

ACCESS = (
    Mutation(
        "A nonce is accepted only once",
        "src/imprint/adapters/stores/signed_writes.py",
        "    if spent is not None:\n",
        '    if spent is not None and spent["action"] != "create":\n',
        "test",
        (
            "tests/web/api/test_drafts.py::test_the_refusal_of_a_repeated_write_names_the_file_it_created",
        ),
    ),
    Mutation(
        "Only its owner can update a draft",
        "src/imprint/services/drafts/drafts.py",
        "    if file.owner != write.signer:\n",
        "    if file.owner != write.signer and write.action is Action.DELETE:\n",
        "test",
        ("tests/web/api/test_drafts.py::test_only_the_owner_may_write",),
    ),
    Mutation(
        "A signature with a time in the future is refused",
        "src/imprint/auth/typed_data.py",
        "    if abs(now.timestamp() - timestamp) > FRESHNESS_SECONDS:\n",
        "    if now.timestamp() - timestamp > FRESHNESS_SECONDS:\n",
        "test",
        (
            "tests/web/api/test_drafts.py::test_the_timestamp_of_a_write_must_be_within_60_seconds_of_now",
        ),
    ),
    Mutation(
        "A signature is valid only for the content it was made for",
        "src/imprint/auth/typed_data.py",
        "    if write.body_hash is not None and keccak256(body) != write.body_hash:\n",
        "    if write.body_hash is not None and not body:\n",
        "test",
        (
            "tests/web/api/test_signing_forms.py::test_a_body_other_than_the_signed_one_stores_nothing_and_spends_no_nonce",
        ),
    ),
    Mutation(
        "The key of a revoked writing session cannot write",
        "src/imprint/adapters/stores/drafts/drafts.py",
        "    if await tx.fetchone(HAS_WRITING_SESSION, session=session_id) is None:\n",
        "    if not session_id:\n",
        "test",
        (
            "tests/web/api/test_writes.py"
            "::test_a_revoked_session_is_refused_immediately_on_every_replica",
            "tests/web/api/test_writes.py"
            "::test_a_session_revoked_during_writes_stores_no_later_draft",
        ),
    ),
    Mutation(
        "A writing session allows only the actions that the wallet signed",
        "src/imprint/auth/writing_sessions.py",
        "        if write.action not in session.actions:\n",
        "        if not session.actions:\n",
        "test",
        ("tests/web/api/test_writes.py::test_an_action_outside_the_scope_of_a_session_is_refused",),
    ),
    Mutation(
        "A login message can be used only once",
        "src/imprint/services/accounts/login.py",
        "        if generation is None:\n            raise NonceUsed(LOGIN, None)\n",
        "        generation = generation or 0\n",
        "test",
        ("tests/web/api/test_login.py::test_a_login_message_is_accepted_only_once",),
    ),
    Mutation(
        "A login message must name one of this service's login domains",
        "src/imprint/auth/logins.py",
        "        if not self._accepts(domain):\n",
        "        if not domain:\n",
        "test",
        ("tests/web/api/test_login.py::test_a_login_message_for_another_service_is_refused",),
    ),
    Mutation(
        "Logging out ends the session",
        "src/imprint/adapters/stores/ended_sessions.py",
        'IS_ENDED = f"(EXISTS ({_ENDED} = :session) OR EXISTS ({_ENDED} = :reader))"',
        'IS_ENDED = f"(:session IS NULL OR EXISTS ({_ENDED} = :reader))"',
        "test",
        ("tests/web/api/test_logout.py::test_a_logout_ends_only_its_own_session",),
    ),
    Mutation(
        "A session must be signed with this service's key",
        "src/imprint/auth/sessions.py",
        "        if key is None or not hmac.compare_digest(_sign(key, signed), signature):\n",
        "        if key is None:\n",
        "test",
        ("tests/web/api/test_login.py::test_a_forged_session_is_refused",),
    ),
    Mutation(
        "Only a contract wallet's explicit verdict accepts a signature",
        "src/imprint/adapters/chain/contract_wallets.py",
        "    verdict = _VERDICTS.get(returned[0])\n",
        '    verdict = _VERDICTS.get(returned[0], returned[0] != b"")\n',
        "test",
        (
            "tests/adapters/chain/test_contract_wallets_nodes.py"
            "::test_any_result_other_than_a_verdict_counts_as_a_node_failure",
        ),
    ),
    Mutation(
        "All nodes of a quorum must accept the signature of a contract wallet",
        "src/imprint/adapters/chain/contract_wallets.py",
        "        return all(await self._calls.ask_several(",
        "        return any(await self._calls.ask_several(",
        "test",
        (
            "tests/adapters/chain/test_contract_wallets_nodes.py"
            "::test_all_nodes_of_a_quorum_must_accept",
        ),
    ),
    Mutation(
        "Only the operator's secret opens the operator's page",
        "src/imprint/auth/sessions.py",
        "        return is_ours and now.timestamp() < int(expires)\n",
        "        return is_ours or now.timestamp() < int(expires)\n",
        "test",
        ("tests/auth/test_sessions_operator_sessions.py",),
    ),
)
"""Faults in write access and signing in."""

READING = (
    Mutation(
        "Only its author and token holders can read a paid post",
        "src/imprint/domain/access.py",
        "    return Access.HOLDER if facts.balance > 0 else Access.DENIED\n",
        "    return Access.HOLDER if facts.balance >= 0 else Access.DENIED\n",
        "test",
        ("tests/web/api/test_reads.py::test_a_reader_without_a_token_is_refused",),
    ),
    Mutation(
        "A cached access decision expires after a few seconds",
        "src/imprint/services/access/entitlement.py",
        "        if grant is not None and self.monotonic() < grant.until and _describes(",
        "        if grant is not None and _describes(",
        "test",
        (
            "tests/services/access/test_entitlement.py::test_a_grant_is_cached_for_the_cache_time_and_no_longer",
        ),
    ),
    Mutation(
        "A transfer ends the previous holder's access",
        "src/imprint/services/access/entitlement.py",
        "WATCHED = (TRANSFER, POST_SUBSCRIBED, POST_PRICE_UPDATED)\n",
        "WATCHED = (POST_SUBSCRIBED, POST_PRICE_UPDATED)\n",
        "test",
        ("tests/services/access/test_entitlement.py",),
    ),
    Mutation(
        "Only its owner can read a draft",
        "src/imprint/services/access/reads.py",
        "        if file.owner != session.address:\n",
        "        if not session.address:\n",
        "test",
        ("tests/web/api/test_reads.py::test_reading_another_owners_draft_is_refused",),
    ),
    Mutation(
        "The gateway never serves a private document",
        "src/imprint/services/access/reads.py",
        "        return await self.files.public_size(cid)\n",
        "        return await self.files.public_size(cid) or 0\n",
        "test",
        ("tests/web/api/test_gateway.py::test_private_documents_are_not_served_in_any_format",),
    ),
    Mutation(
        "A feed includes a post's text only while the post is free on the chain",
        "src/imprint/services/posts/feeds.py",
        "    return await reads.shown_post(post)\n",
        "    return await reads.post_for(post.author, post.post_id)\n",
        "test",
        (
            "tests/web/api/test_feeds.py"
            "::test_a_price_raised_on_chain_hides_the_text_before_it_is_indexed",
        ),
    ),
    Mutation(
        "Pages and Markdown include a post's text only while it is free on the chain",
        "src/imprint/services/site.py",
        "            file = await self.reads.shown_post(post)\n",
        "            file = await self.reads.post_for(post.author, post_id)\n",
        "test",
        (
            "tests/web/api/test_feeds.py"
            "::test_a_price_raised_on_chain_hides_the_text_before_it_is_indexed",
        ),
    ),
    Mutation(
        "A post that is no longer free stays hidden while the chain is unreachable",
        "src/imprint/services/access/entitlement.py",
        "        if facts.entry.price:\n"
        "            self._doubtful.put(post_id, None)\n"
        "        else:\n"
        "            self._doubtful.pop(post_id)\n",
        "",
        "test",
        (
            "tests/web/api/test_feeds.py"
            "::test_a_post_denied_by_the_chain_stays_hidden_while_the_node_is_down",
        ),
    ),
    Mutation(
        "The index is trusted for an hour after the chain last responded",
        "src/imprint/services/access/entitlement.py",
        "        return self._is_recent(self._heard_at, TRUSTED_TIME) and post_id not in "
        "self._doubtful\n",
        "        return post_id not in self._doubtful\n",
        "test",
        (
            "tests/web/api/test_feeds.py"
            "::test_free_posts_are_shown_for_an_hour_after_the_last_chain_response",
        ),
    ),
    Mutation(
        "Search never finds the text of a paid post",
        "src/imprint/adapters/stores/posts/index_writer.py",
        "    if paid:\n        await drop_texts(tx, paid)\n",
        "",
        "test",
        (
            "tests/web/api/test_search.py::test_a_price_removes_a_text_from_search_and_a_price_of_0_restores_it",
        ),
    ),
    Mutation(
        "A library search shows nothing the reader may no longer read",
        "src/imprint/services/posts/search.py",
        "            if refusal.code in (Code.NOT_ENTITLED, Code.NOT_FOUND):\n"
        "                return False\n",
        "            if refusal.code in (Code.NOT_ENTITLED, Code.NOT_FOUND):\n"
        "                return True\n",
        "test",
        ("tests/web/api/test_search.py",),
    ),
    Mutation(
        "A private feed contains only what its owner holds now",
        "src/imprint/services/posts/feeds.py",
        "    return await reads.post_for(reader, post.post_id)\n",
        "    return await reads.post_for(post.author, post.post_id)\n",
        "test",
        (
            "tests/web/api/test_private_feeds.py"
            "::test_a_former_holder_gets_no_text_even_before_the_transfer_is_indexed",
        ),
    ),
    Mutation(
        "A page token is valid only for the list it was issued for",
        "src/imprint/services/posts/posts.py",
        "            if getattr(start.which, name) != value:\n",
        "            if not hasattr(start.which, name):\n",
        "test",
        ("tests/web/api/test_posts.py::test_a_page_token_is_valid_only_for_its_list",),
    ),
    Mutation(
        "A challenge is valid only for the path it was issued for",
        "src/imprint/auth/sign_in_with_x.py",
        '    mac.update(prefix + f"{issued_at} {path}".encode())\n',
        "    mac.update(prefix + issued_at.encode())\n",
        "test",
        (
            "tests/auth/test_sign_in_with_x.py"
            "::test_a_nonce_is_bound_to_its_path_even_if_the_message_names_another",
        ),
    ),
    Mutation(
        "A proof is valid only for the address that signed it",
        "src/imprint/auth/sign_in_with_x.py",
        "        return prove(SignInProof(address, message.nonce), address, digest, "
        "claim.signature)\n",
        "        return SignInProof(address, message.nonce)\n",
        "test",
        ("tests/auth/test_sign_in_with_x.py::test_the_address_must_be_the_signers_address",),
    ),
    Mutation(
        "A proof allows one read of a paid post",
        "src/imprint/web/api/paywall.py",
        "            await self.payments.spend(opened.proof)\n",
        "            return\n",
        "test",
        ("tests/web/api/test_paywall.py::test_a_proof_allows_one_read_of_a_post",),
    ),
    Mutation(
        "A transaction that a reader names grants no access",
        "src/imprint/web/api/paywall.py",
        "                # The token may also have come as a gift, or by another transaction.\n"
        "                file = await self._read(caller, post_id)\n",
        "                file = unpaid.file\n",
        "test",
        ("tests/web/api/test_paywall.py::test_an_unrelated_transaction_grants_no_access",),
    ),
    Mutation(
        "A purchase that a reorg moves is not taken for a missing one",
        "src/imprint/adapters/chain/marketplace.py",
        "            if _block_of(found) != block:\n",
        "            if found == block:\n",
        "test",
        (
            "tests/adapters/chain/test_marketplace_purchases.py"
            "::test_a_transaction_moved_by_a_reorg_during_the_query_is_not_a_purchase_yet",
        ),
    ),
)
"""Faults in read access."""

BROWSERS = (
    Mutation(
        "Pages do not run inline scripts",
        "src/imprint/web/site/policy.py",
        "            \"script-src 'self'\",\n",
        "            \"script-src 'self' 'unsafe-inline'\",\n",
        "test",
        ("tests/web/site/test_pages_of_site.py",),
    ),
    Mutation(
        "Rendered texts are sanitised",
        "src/imprint/web/site/texts/post_html.py",
        "    return TextMarkup(Markup(sanitised(markup)), secret)",
        "    return TextMarkup(Markup(markup), secret)",
        "test",
        ("tests/web/site/texts/test_post_html.py",),
    ),
    Mutation(
        "The work of converting a text is bounded",
        "src/imprint/domain/posts/text_work.py",
        "        self._left -= steps\n",
        "",
        "test",
        ("tests/web/site/texts/test_post_html.py",),
    ),
    Mutation(
        "A rendered text has no element that embeds another page",
        "src/imprint/web/site/texts/post_html.py",
        '"hr", "i", "img", "li",',
        '"hr", "i", "iframe", "img", "li",',
        "test",
        ("tests/web/site/texts/test_post_html.py",),
    ),
    Mutation(
        "A link that looks internal does not lead to another site",
        "src/imprint/web/site/texts/text_links.py",
        '_WITHIN = re.compile(r"(?:#|/(?![/\\\\]))',
        '_WITHIN = re.compile(r"(?:#|/)',
        "test",
        ("tests/web/site/texts/test_post_html.py::test_a_link_with_an_unsafe_scheme_has_no_href",),
    ),
    Mutation(
        "Pages of other origins get no CORS permission",
        "src/imprint/web/http/middleware.py",
        "            allow_origins=origins,\n",
        '            allow_origin_regex=".*",\n            allow_credentials=True,\n',
        "test",
        ("tests/web/http/test_middleware_cors.py",),
    ),
    Mutation(
        "The titles of posts are escaped in feeds",
        "src/imprint/web/api/atom.py",
        '    yield f"<title>{xml_text(post.title)}</title>\\n"\n',
        '    yield f"<title>{post.title}</title>\\n"\n',
        "test",
        ("tests/web/api/test_feeds.py::test_feeds_stay_well_formed_for_any_title_and_description",),
    ),
    Mutation(
        "A form on another site cannot sign the operator in",
        "src/imprint/web/site/operator.py",
        '            return site == "same-origin"\n',
        '            return site != "none"\n',
        "test",
        ("tests/web/site/test_operator.py::test_a_cross_origin_form_is_refused",),
    ),
)
"""Faults in headers and policies sent to browsers."""

SECRECY = (
    Mutation(
        "The token of a private feed is not logged",
        "src/imprint/web/http/middleware.py",
        "    secret = _BEFORE_SECRET.search(path)\n",
        "    secret = None\n",
        "test",
        (
            "tests/web/api/test_private_feeds.py::test_the_token_appears_in_no_log_metric_or_problem",
        ),
    ),
    Mutation(
        "Metrics have no labels with paths that a client invents",
        "src/imprint/web/http/middleware.py",
        '    return "/ipfs/{cid}" if path.startswith("/ipfs/") else OTHER_PATHS\n',
        '    return "/ipfs/{cid}" if path.startswith("/ipfs/") else path\n',
        "test",
        (
            "tests/web/api/test_private_feeds.py::test_the_token_appears_in_no_log_metric_or_problem",
        ),
    ),
    Mutation(
        "A secret setting is never printed",
        "src/imprint/settings/secrets.py",
        '    def __str__(self) -> str:\n        return "…"\n',
        "    def __str__(self) -> str:\n        return self._text\n",
        "test",
        ("tests/settings/test_secrets.py::test_a_secret_is_never_printed",),
    ),
    Mutation(
        "Query strings, which may contain page tokens, are not logged",
        "src/imprint/web/http/middleware.py",
        '                "path": _logged_path(path),\n',
        '                "path": f"{_logged_path(path)}?{scope[\'query_string\'].decode()}",\n',
        "test",
        ("tests/web/api/test_logs.py::test_query_strings_are_not_logged",),
    ),
    Mutation(
        "Each document key is wrapped with its own nonce",
        "src/imprint/adapters/encryption.py",
        "        nonce = secrets.token_bytes(NONCE_BYTES)\n        bound =",
        "        nonce = bytes(NONCE_BYTES)\n        bound =",
        "test",
        ("tests/adapters/test_encryption.py",),
    ),
    Mutation(
        "Documents encrypted by an earlier release stay readable",
        "src/imprint/adapters/encryption.py",
        '_KEY_LABEL = b"imprint document key 1\\0"\n',
        '_KEY_LABEL = b"imprint document key 2\\0"\n',
        "test",
        ("tests/adapters/test_encryption.py",),
    ),
)
"""Faults in confidentiality."""

OF_ACCESS: tuple[Mutation, ...] = (*ACCESS, *READING, *BROWSERS, *SECRECY)
