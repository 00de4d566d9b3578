"""Publishing in the Studio when the wallet, the chain, the service or the tab fails."""

from playwright.sync_api import Page, expect
from tests.browser.accounts import NewAccount
from tests.browser.pages import OpenPage
from tests.browser.posts import ForeignPost, create_on_chain
from tests.browser.publishing import (
    change_progress,
    expect_published,
    kept_progress,
    post_title,
    present_step,
    publish,
    write,
)
from tests.browser.wallet import NewWallet
from tests.processes import Service

MINUTE = 60_000
"""A minute in milliseconds: longer than the pause between requests to an unreachable node."""


def alert(page: Page, text: str) -> None:
    expect(page.get_by_role("alert")).to_contain_text(text)


def test_the_form_can_be_changed_after_a_declined_transaction(
    open_page: OpenPage, new_wallet: NewWallet
) -> None:
    wallet = new_wallet()
    wallet.refuses.add("eth_sendTransaction")
    page = write(open_page(wallet), "Changed after all")
    publish(page)
    alert(page, "You declined")
    page.get_by_role("button", name="Back to the form").click()
    page.get_by_label("Price in ETH").fill("0.3")
    wallet.refuses.clear()
    publish(page)
    expect_published(page)
    expect(page.get_by_text("Readers pay 0.3 ETH")).to_be_visible()


def test_a_declined_signature_can_be_given_after_a_reload(
    open_page: OpenPage, new_wallet: NewWallet
) -> None:
    wallet = new_wallet()
    page = write(open_page(wallet), "Reloaded in between")
    wallet.refuses.add("eth_signTypedData_v4")
    publish(page)
    expect(page.get_by_role("alert")).to_be_visible()
    wallet.refuses.clear()
    page.reload()
    page.get_by_role("button", name="Continue publishing").click()
    expect_published(page)
    assert len(wallet.sent) == 1


def test_a_pending_transaction_is_still_followed_after_a_reload(
    open_page: OpenPage, new_wallet: NewWallet
) -> None:
    wallet = new_wallet()
    wallet.withholds.add("eth_getTransactionReceipt")
    page = write(open_page(wallet), "Reloaded while mined")
    publish(page)
    expect(present_step(page)).to_contain_text("Confirmed")
    page.reload()
    expect(present_step(page)).to_contain_text("The network is processing it.")
    wallet.withholds.clear()
    expect_published(page)
    assert len(wallet.sent) == 1


def test_a_draft_being_published_links_to_the_publishing_steps(
    open_page: OpenPage, new_wallet: NewWallet
) -> None:
    wallet = new_wallet()
    wallet.refuses.add("eth_sendTransaction")
    page = write(open_page(wallet), "Left in between")
    publish(page)
    alert(page, "You declined in your wallet. Nothing was sent.")
    assert wallet.sent == []
    wallet.refuses.clear()
    page.get_by_role("link", name="Drafts").first.click()
    line = page.locator(".draft-line", has_text="Left in between")
    expect(line).to_contain_text("Publishing")
    line.get_by_role("link").first.click()
    page.get_by_role("button", name="Try again").click()
    expect_published(page)


def test_a_wallet_on_another_network_is_asked_to_switch(
    open_page: OpenPage, new_wallet: NewWallet
) -> None:
    wallet = new_wallet()
    page = write(open_page(wallet), "From another network")
    wallet.refuses.add("wallet_switchEthereumChain")
    wallet.choose_chain(1)
    publish(page)
    alert(page, "You declined in your wallet.")
    wallet.refuses.clear()
    page.get_by_role("button", name="Try again").click()
    expect_published(page)
    assert wallet.chain_id == wallet.chain.id


def test_a_network_change_during_mining_is_reported(
    open_page: OpenPage, new_wallet: NewWallet
) -> None:
    wallet = new_wallet()
    wallet.withholds.add("eth_getTransactionReceipt")
    page = write(open_page(wallet), "Changed network")
    publish(page)
    expect(present_step(page)).to_contain_text("Confirmed")
    wallet.choose_chain(1)
    alert(page, "Your wallet is on the network with chain ID 1.")
    wallet.withholds.clear()
    page.get_by_role("button", name="Switch network").click()
    expect_published(page)
    assert len(wallet.sent) == 1


def test_requests_to_a_stopped_service_are_retried(
    open_page: OpenPage, new_wallet: NewWallet, stoppable: Service
) -> None:
    wallet = new_wallet()
    wallet.withholds.add("eth_getTransactionReceipt")
    page = write(open_page(wallet), "While the service is away")
    publish(page)
    expect(present_step(page)).to_contain_text("Confirmed")
    stoppable.stop()
    expect(present_step(page)).to_contain_text("The network isn’t responding.")
    stoppable.start()
    wallet.withholds.clear()
    expect(page.get_by_role("link", name="View post")).to_be_visible(timeout=MINUTE)
    assert len(wallet.sent) == 1


def test_nothing_is_lost_if_the_service_stops_before_the_upload(
    open_page: OpenPage, new_wallet: NewWallet, stoppable: Service
) -> None:
    wallet = new_wallet()
    wallet.refuses.add("eth_sendTransaction")
    page = write(open_page(wallet), "Uploaded later")
    stoppable.stop()
    publish(page)
    alert(page, "Your text is safe in this browser.")
    stoppable.start()
    wallet.refuses.clear()
    page.get_by_role("button", name="Try again").click()
    expect_published(page)


def test_a_new_version_is_needed_if_another_author_published_the_cid(
    open_page: OpenPage, new_wallet: NewWallet, new_account: NewAccount
) -> None:
    wallet = new_wallet()
    wallet.refuses.add("eth_sendTransaction")
    opened = open_page(wallet)
    page = write(opened, "Taken by somebody else")
    publish(page)
    alert(page, "You declined")
    taken = kept_progress(page)["cid"]
    stranger = ForeignPost("Not mine", cid=taken, thumbnail_cid=taken)
    create_on_chain(opened.url, [stranger], new_account())
    wallet.refuses.clear()
    page.get_by_role("button", name="Try again").click()
    alert(page, "Someone else has already published this version of your text")
    page.get_by_role("button", name="Save as a new version").click()
    expect_published(page)
    assert kept_progress(page)["cid"] != taken
    assert len(wallet.sent) == 1


def test_the_revert_reason_is_shown(open_page: OpenPage, new_wallet: NewWallet) -> None:
    wallet = new_wallet()
    wallet.refuses.add("eth_sendTransaction")
    page = write(open_page(wallet), "Refused by the contract")
    publish(page)
    alert(page, "You declined")
    wallet.refuses.clear()
    # As if an earlier page with other limits had stored the publication.
    change_progress(page, title="a" * 101)
    page.reload()
    page.get_by_role("button", name="Continue publishing").click()
    alert(page, "The title is too long: 100 bytes at most.")
    assert wallet.sent == []
    page.get_by_role("button", name="Back to the form").click()
    publish(page)
    expect_published(page)


def test_a_second_tab_takes_over_when_the_first_is_closed(
    open_page: OpenPage, new_wallet: NewWallet
) -> None:
    wallet = new_wallet()
    wallet.withholds.add("eth_getTransactionReceipt")
    opened = open_page(wallet)
    first = write(opened, "Closed in between")
    publish(first)
    expect(present_step(first)).to_contain_text("Confirmed")
    second = opened.another()
    second.goto(first.url)
    expect(second.get_by_text("You’re publishing this in another tab.")).to_be_visible()
    first.close()
    expect(second.get_by_text("You’re publishing this in another tab.")).to_have_count(0)
    wallet.withholds.clear()
    expect_published(second)
    assert len(wallet.sent) == 1


def test_two_tabs_publish_a_draft_only_once(open_page: OpenPage, new_wallet: NewWallet) -> None:
    wallet = new_wallet()
    opened = open_page(wallet)
    first = write(opened, "Two forms")
    second = opened.another()
    second.goto(first.url)
    expect(post_title(second)).to_have_value("Two forms")
    wallet.refuses.add("eth_sendTransaction")
    first.bring_to_front()
    publish(first)
    alert(first, "You declined")
    # The second tab has left its form, so either tab can continue the publication.
    wallet.refuses.clear()
    second.bring_to_front()
    second.get_by_role("button", name="Continue publishing").click()
    expect_published(second)
    expect_published(first)
    assert len(wallet.sent) == 1


def test_a_publication_is_also_followed_in_a_second_tab(
    open_page: OpenPage, new_wallet: NewWallet
) -> None:
    wallet = new_wallet()
    wallet.withholds.add("eth_getTransactionReceipt")
    opened = open_page(wallet)
    first = write(opened, "In two tabs")
    publish(first)
    expect(present_step(first)).to_contain_text("Confirmed")
    second = opened.another()
    second.goto(first.url)
    expect(second.get_by_text("You’re publishing this in another tab.")).to_be_visible()
    expect(second.get_by_role("button", name="Continue publishing")).to_have_count(0)
    wallet.withholds.clear()
    expect_published(first)
    expect_published(second)
    assert len(wallet.sent) == 1
