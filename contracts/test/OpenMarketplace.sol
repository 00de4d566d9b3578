// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {Marketplace} from "../Marketplace.sol";

/// @title A marketplace of the simulation: tokens are also given away and burned, and one
/// transaction may do several things.
contract OpenMarketplace is Marketplace {
    error OnlyPosts(uint256 tokenId);

    /// @notice Mints tokens of a post for anybody, without a purchase.
    function give(address receiver, uint256 tokenId, uint256 amount) external {
        if (tokenId == 0 || tokenId >= nextTokenId) revert OnlyPosts(tokenId);
        _mint(receiver, tokenId, amount);
    }

    /// @notice Burns tokens of the caller.
    function burn(uint256 tokenId, uint256 amount) external {
        _burn(msg.sender, tokenId, amount);
    }

    /// @notice Makes several calls as the caller; if one reverts, all do.
    function batch(bytes[] calldata calls) external payable {
        for (uint256 i = 0; i < calls.length; ++i) {
            (bool success, bytes memory reason) = address(this).delegatecall(calls[i]);
            if (!success) {
                assembly ("memory-safe") {
                    revert(add(reason, 32), mload(reason))
                }
            }
        }
    }
}
