// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {PostMarket} from "../PostMarket.sol";

/// @title A marketplace with the interface that is already deployed: posts without hashtags.
/// @notice For tests only: it shows that the service works with that interface unchanged.
contract LegacyMarketplace is PostMarket {
    /// @notice What an author gives to create a post.
    struct NewPost {
        string postCid;
        string postTitle;
        string thumbnailCid;
        string description;
        uint256 priceInNative;
    }

    /// @notice Publishes a post of the caller.
    function createPost(NewPost calldata params) external returns (uint256 tokenId) {
        return _publish(
            Post({
                author: msg.sender,
                postCid: params.postCid,
                postTitle: params.postTitle,
                thumbnailCid: params.thumbnailCid,
                description: params.description,
                priceInNative: params.priceInNative
            })
        );
    }
}
