// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {Marketplace} from "../Marketplace.sol";
import {PurchaseAdapter} from "../PurchaseAdapter.sol";

/// @title An author whose contract does something hostile whenever it is paid.
/// @notice For tests only.
contract HostileAuthor {
    enum Behaviour {
        Accept,
        Refuse,
        BuySameAgain,
        BuyAnother,
        BuyMany,
        RaisePrices,
        SendStrayToken,
        PayAdapter
    }

    Marketplace private immutable MARKET;
    PurchaseAdapter private immutable ADAPTER;
    Behaviour public behaviour;
    uint256[] public ids;
    uint256 public other;
    uint256 public breaches;
    uint256 private _strangers;
    mapping(uint256 id => uint256 count) public strays;

    constructor(Marketplace market, PurchaseAdapter adapter) payable {
        MARKET = market;
        ADAPTER = adapter;
    }

    function publish(string calldata cid, uint256 price) external returns (uint256 id) {
        id = MARKET.createPost(Marketplace.NewPost(cid, "t", "t", "", price, new string[](0)));
        ids.push(id);
    }

    function behave(Behaviour next, uint256 id) external {
        (behaviour, other) = (next, id);
    }

    function setPrice(uint256 number, uint256 amount) external {
        MARKET.updatePostPrice(ids[number], amount);
    }

    receive() external payable {
        Behaviour now_ = behaviour;
        if (now_ == Behaviour.Refuse) revert("no");
        if (now_ == Behaviour.BuySameAgain) {
            for (uint256 i = 0; i < ids.length; ++i) {
                _try(abi.encodeCall(ADAPTER.buyFor, (ids[i], _stranger())));
            }
        }
        if (now_ == Behaviour.BuyAnother) _try(abi.encodeCall(ADAPTER.buyFor, (other, _stranger())));
        if (now_ == Behaviour.BuyMany) _try(abi.encodeCall(ADAPTER.buyMany, (ids, _stranger())));
        if (now_ == Behaviour.RaisePrices) {
            for (uint256 i = 0; i < ids.length; ++i) {
                MARKET.updatePostPrice(ids[i], 1 ether);
            }
        }
        if (now_ == Behaviour.SendStrayToken && MARKET.balanceOf(address(this), other) != 0) {
            MARKET.transfer(address(ADAPTER), other, 1);
            ++strays[other];
        }
        if (now_ == Behaviour.PayAdapter) {
            (bool accepted,) = address(ADAPTER).call{value: 1}("");
            if (accepted) ++breaches;
        }
    }

    /// @dev Nobody else's address, so that nothing but the adapter's guard refuses the purchase.
    function _stranger() private returns (address) {
        return address(uint160(uint256(keccak256(abi.encode(this, ++_strangers)))));
    }

    function _try(bytes memory data) private {
        (bool done,) = address(ADAPTER).call{value: address(this).balance}(data);
        if (done) ++breaches;
    }
}

/// @title Buys through the adapter at random, and checks after each call that it owns nothing.
/// @notice For tests only.
contract PurchaseStorm {
    uint256 private constant AUTHORS = 4;
    uint256 private constant POSTS = 3;
    uint256 private constant HIGHEST = 1000;

    Marketplace private immutable MARKET;
    PurchaseAdapter private immutable ADAPTER;
    HostileAuthor[] private _authors;
    uint256[] private _ids;
    uint256 private _state;
    uint256 private _receivers;
    bool private _refuses;
    bool private _reenters;
    uint256 private _breaches;

    uint256 public bought;
    uint256 public refused;

    error Breach(string what, uint256 call);

    constructor(Marketplace market, PurchaseAdapter adapter, uint256 seed) payable {
        (MARKET, ADAPTER, _state) = (market, adapter, seed);
        for (uint256 i = 0; i < AUTHORS; ++i) {
            HostileAuthor author = new HostileAuthor{value: 1 ether}(market, adapter);
            _authors.push(author);
            for (uint256 j = 0; j < POSTS; ++j) {
                string memory cid = string(abi.encodePacked("cid", bytes1(uint8(48 + i)), bytes1(uint8(48 + j))));
                _ids.push(author.publish(cid, _random(HIGHEST)));
            }
        }
    }

    receive() external payable {
        if (_refuses) revert("no");
        if (_reenters) {
            bytes memory data = abi.encodeCall(ADAPTER.buyFor, (_ids[0], address(uint160(++_receivers))));
            (bool done,) = address(ADAPTER).call{value: 1 ether}(data);
            if (done) ++_breaches;
        }
    }

    /// @notice Makes this many calls.
    function run(uint256 calls) external {
        for (uint256 i = 0; i < calls; ++i) {
            _prepare();
            _call(i);
        }
    }

    /// @notice What authors and the refunded payer achieved that must be impossible.
    function breaches() external view returns (uint256 count) {
        count = _breaches;
        for (uint256 i = 0; i < AUTHORS; ++i) {
            count += _authors[i].breaches();
        }
    }

    /// @dev Gives an author a behaviour and a price, and sometimes sends a stray token.
    function _prepare() private {
        HostileAuthor author = _authors[_random(AUTHORS)];
        uint256 id = _ids[_random(_ids.length)];
        author.behave(HostileAuthor.Behaviour(_random(8)), id);
        author.setPrice(_random(POSTS), _random(HIGHEST));
        if (_random(8) == 0 && MARKET.balanceOf(address(this), id) != 0) {
            MARKET.transfer(address(_authors[_random(AUTHORS)]), id, 1);
        }
        if (_random(8) == 0 && MARKET.balanceOf(address(this), id) != 0) {
            MARKET.transfer(address(ADAPTER), id, 1);
        }
        _refuses = _random(10) == 0;
        _reenters = _random(4) == 0;
    }

    function _call(uint256 number) private {
        uint256[] memory ids = new uint256[](1 + _random(4));
        uint256 total;
        for (uint256 i = 0; i < ids.length; ++i) {
            ids[i] = _random(40) == 0 ? 10_000 : _ids[_random(_ids.length)];
            total += MARKET.getPostInfo(ids[i]).priceInNative;
        }
        address receiver = _receiver();
        uint256 value = _random(6) == 0 ? _random(total + 1) : total + _random(3) * _random(HIGHEST);
        bytes memory data = ids.length == 1
            ? abi.encodeCall(ADAPTER.buyFor, (ids[0], receiver))
            : abi.encodeCall(ADAPTER.buyMany, (ids, receiver));

        uint256 before = address(this).balance;
        uint256[] memory held = _balances(ids, receiver);
        uint256[] memory strays = _strays(ids);
        (bool done,) = address(ADAPTER).call{value: value}(data);

        if (address(ADAPTER).balance != 0) revert Breach("money", number);
        uint256[] memory holds = _balances(ids, receiver);
        uint256[] memory sent = _strays(ids);
        for (uint256 i = 0; i < ids.length; ++i) {
            if (holds[i] != held[i] + (done ? 1 : 0)) revert Breach("tokens of the receiver", number);
            // What authors sent while they were paid may be left until the next purchase.
            if (done && MARKET.balanceOf(address(ADAPTER), ids[i]) > sent[i] - strays[i]) {
                revert Breach("tokens", number);
            }
        }
        uint256 paid = before - address(this).balance;
        if (!done && paid != 0) revert Breach("a refused call was paid", number);
        // Prices that authors raise meanwhile are above everything that is sent too much.
        if (done && paid != total) revert Breach("not the exact price was paid", number);
        if (done) bought += ids.length;
        else ++refused;
    }

    /// @dev Mostly somebody new; sometimes this contract, an author, or an address nobody may use.
    function _receiver() private returns (address) {
        uint256 choice = _random(12);
        if (choice == 0) return address(this);
        if (choice == 1) return address(_authors[_random(AUTHORS)]);
        if (choice == 2) return address(0);
        if (choice == 3) return address(ADAPTER);
        if (choice == 4) return address(MARKET);
        return address(uint160(uint256(keccak256(abi.encode(++_receivers)))));
    }

    function _balances(uint256[] memory ids, address holder) private view returns (uint256[] memory found) {
        found = new uint256[](ids.length);
        for (uint256 i = 0; i < ids.length; ++i) {
            found[i] = MARKET.balanceOf(holder, ids[i]);
        }
    }

    /// @dev How many tokens of these posts authors have sent to the adapter while they were paid.
    function _strays(uint256[] memory ids) private view returns (uint256[] memory found) {
        found = new uint256[](ids.length);
        for (uint256 i = 0; i < ids.length; ++i) {
            for (uint256 j = 0; j < AUTHORS; ++j) {
                found[i] += _authors[j].strays(ids[i]);
            }
        }
    }

    function _random(uint256 below) private returns (uint256) {
        _state = uint256(keccak256(abi.encode(_state)));
        return _state % below;
    }
}
