// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {PostMarket} from "./PostMarket.sol";

/// @title The Imprint marketplace: posts with hashtags, sold for one ERC-6909 token a reader.
contract Marketplace is PostMarket {
    /// @notice What an author gives to create a post.
    struct NewPost {
        string postCid;
        string postTitle;
        string thumbnailCid;
        string description;
        uint256 priceInNative;
        string[] hashtags;
    }

    /// @notice The most hashtags that a post may carry.
    uint256 public constant MAX_HASHTAGS = 10;

    event PostTagged(uint256 indexed tokenId, string hashtag);

    error TooManyHashtags(uint256 count, uint256 limit);

    /// @notice Publishes a post of the caller, and names its hashtags in the log.
    /// @dev Reverts for a missing or already published cid, a missing or long title, a missing
    /// thumbnail, a long description, a price above the highest, and too many hashtags.
    function createPost(NewPost calldata params) external returns (uint256 tokenId) {
        uint256 count = params.hashtags.length;
        if (count > MAX_HASHTAGS) revert TooManyHashtags(count, MAX_HASHTAGS);

        tokenId = _publish(
            Post({
                author: msg.sender,
                postCid: params.postCid,
                postTitle: params.postTitle,
                thumbnailCid: params.thumbnailCid,
                description: params.description,
                priceInNative: params.priceInNative
            })
        );
        for (uint256 i = 0; i < count; ++i) {
            emit PostTagged(tokenId, params.hashtags[i]);
        }
    }
}
