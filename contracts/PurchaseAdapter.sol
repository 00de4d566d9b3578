// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {ReentrancyGuardTransient} from "@openzeppelin/contracts/utils/ReentrancyGuardTransient.sol";

import {PostMarket} from "./PostMarket.sol";

/// @title Buys posts of a marketplace for somebody else, or several at once.
/// @notice The marketplace gives a token to its caller only. This contract buys, hands the token on
/// in the same call, and owns nothing afterwards: no money, no tokens, no owner, no settings.
contract PurchaseAdapter is ReentrancyGuardTransient {
    /// @notice The marketplace whose posts are bought.
    PostMarket public immutable MARKET;

    event Bought(uint256 indexed id, address indexed payer, address indexed receiver, uint256 price);

    error NothingToBuy();
    error InvalidReceiver(address receiver);
    error AuthorNeedNotBuy(uint256 id);
    error AlreadyHeld(uint256 id, address receiver);
    error PaymentTooLow(uint256 paid, uint256 price);
    error TransferFailed(uint256 id, address receiver);
    error RefundRefused(address payer, uint256 amount);

    constructor(PostMarket market) {
        MARKET = market;
    }

    /// @notice Buys a post for `receiver`, and returns what was sent too much.
    /// @dev Reverts if the receiver wrote the post or holds it already, and for whatever the
    /// marketplace refuses.
    function buyFor(uint256 id, address receiver) external payable nonReentrant {
        _checkReceiver(receiver);
        _refund(_buy(id, receiver, msg.value));
    }

    /// @notice Buys all of these posts for `receiver`, or none, and returns what was sent too much.
    /// @dev Reverts as `buyFor`, and for an id that is given twice.
    function buyMany(uint256[] calldata ids, address receiver) external payable nonReentrant {
        _checkReceiver(receiver);
        if (ids.length == 0) revert NothingToBuy();
        uint256 left = msg.value;
        for (uint256 i = 0; i < ids.length; ++i) {
            left = _buy(ids[i], receiver, left);
        }
        _refund(left);
    }

    /// @dev Buys one post from `left` wei and returns what remains of it.
    function _buy(uint256 id, address receiver, uint256 left) private returns (uint256) {
        PostMarket.Post memory post = MARKET.getPostInfo(id);
        uint256 price = post.priceInNative;
        if (post.author == receiver) revert AuthorNeedNotBuy(id);
        if (MARKET.balanceOf(receiver, id) != 0) revert AlreadyHeld(id, receiver);
        if (left < price) revert PaymentTooLow(msg.value, msg.value - left + price);

        // Tokens sent here by mistake or malice would make the marketplace refuse the purchase.
        uint256 stray = MARKET.balanceOf(address(this), id);
        if (stray != 0) _transfer(id, post.author, stray);

        MARKET.subscribePost{value: price}(id);
        _transfer(id, receiver, 1);
        emit Bought(id, msg.sender, receiver, price);
        return left - price;
    }

    function _checkReceiver(address receiver) private view {
        if (receiver == address(0) || receiver == address(this) || receiver == address(MARKET)) {
            revert InvalidReceiver(receiver);
        }
    }

    function _transfer(uint256 id, address receiver, uint256 amount) private {
        if (!MARKET.transfer(receiver, id, amount)) revert TransferFailed(id, receiver);
    }

    /// @dev The amount is computed from what was sent, so that money forced in here is nobody's.
    function _refund(uint256 amount) private {
        if (amount == 0) return;
        (bool accepted,) = msg.sender.call{value: amount}("");
        if (!accepted) revert RefundRefused(msg.sender, amount);
    }
}
