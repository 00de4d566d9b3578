"""Seeds whose runs have failed once; they run every time, so that no fault comes back.

A seed means another history when the actions change. So every finding also gets its own test: 297
found `test_posts_that_swap_post_ids_are_bound_again_without_a_delivered_block_number`, 10 found
`test_an_event_that_corrects_a_forged_one_is_undone_by_a_reorg`, 92 found
`test_a_gift_in_the_transaction_of_a_purchase_does_not_count_as_bought`, 49, 371 and 432 found
`test_a_log_left_out_of_a_block_that_no_reorg_reaches_is_found_later`.
"""

KEPT_SEEDS: tuple[int, ...] = (297, 10, 92, 49, 371, 432)
