// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {ERC6909} from "@openzeppelin/contracts/token/ERC6909/ERC6909.sol";

/// @title What every Imprint marketplace does: an entry per post, a price, and a token for each reader.
/// @notice How a post is created differs between marketplaces; they call `_publish`.
abstract contract PostMarket is ERC6909 {
    /// @notice One post as the marketplace knows it. An id that was never given out has a zero entry.
    struct Post {
        address author;
        string postCid;
        string postTitle;
        string thumbnailCid;
        string description;
        uint256 priceInNative;
    }

    /// @notice The longest title, in bytes.
    uint256 public constant MAX_TITLE_BYTES = 100;
    /// @notice The longest description, in bytes.
    uint256 public constant MAX_DESCRIPTION_BYTES = 500;
    /// @notice The highest price, in wei.
    uint256 public constant MAX_PRICE = 1 ether;

    /// @notice The id that the next post gets; ids start at 1, so that 0 can mean "not published".
    uint256 public nextTokenId = 1;
    /// @notice The id under which a cid was published, spelled exactly so; 0 if it was not.
    mapping(string postCid => uint256 tokenId) public postCidToTokenId;

    mapping(uint256 tokenId => Post) private _posts;

    event PostCreated(
        uint256 indexed tokenId,
        string postTitle,
        string postCid,
        string thumbnailCid,
        address indexed author,
        uint256 costInNativeInWei
    );
    event PostSubscribed(uint256 indexed tokenId, address indexed subscriber, uint256 totalCost);
    event PostPriceUpdated(uint256 indexed tokenId, uint256 oldPrice, uint256 newPrice);

    error CidMissing();
    error CidAlreadyPublished(uint256 tokenId);
    error TitleMissing();
    error TitleTooLong(uint256 length, uint256 limit);
    error ThumbnailMissing();
    error DescriptionTooLong(uint256 length, uint256 limit);
    error PriceTooHigh(uint256 price, uint256 limit);
    error UnknownPost(uint256 tokenId);
    error OnlyAuthor(uint256 tokenId, address author);
    error AuthorNeedNotBuy(uint256 tokenId);
    error AlreadySubscribed(uint256 tokenId, address subscriber);
    error PaymentTooLow(uint256 paid, uint256 price);
    error PaymentRefused(address receiver, uint256 amount);

    /// @notice The entry of a post; all zero and empty for an id that does not exist.
    function getPostInfo(uint256 tokenId) external view returns (Post memory) {
        return _posts[tokenId];
    }

    /// @notice Buys one token of a post: the author is paid, what was sent too much comes back.
    /// @dev Reverts for an unknown post, for the author (who reads without a token), for a caller
    /// who holds one already, for a payment below the price, and if author or caller refuse the money.
    /// All state is written before any money moves, so calling back in finds the token already held.
    function subscribePost(uint256 tokenId) external payable {
        Post storage post = _posts[tokenId];
        address author = post.author;
        uint256 price = post.priceInNative;

        if (author == address(0)) revert UnknownPost(tokenId);
        if (author == msg.sender) revert AuthorNeedNotBuy(tokenId);
        if (balanceOf(msg.sender, tokenId) != 0) revert AlreadySubscribed(tokenId, msg.sender);
        if (msg.value < price) revert PaymentTooLow(msg.value, price);

        _mint(msg.sender, tokenId, 1);
        emit PostSubscribed(tokenId, msg.sender, price);

        _pay(author, price);
        _pay(msg.sender, msg.value - price);
    }

    /// @notice Changes the price of a post from now on.
    /// @dev Reverts for an unknown post, for anybody but its author, and above the highest price.
    function updatePostPrice(uint256 tokenId, uint256 newPrice) external {
        Post storage post = _posts[tokenId];
        if (post.author == address(0)) revert UnknownPost(tokenId);
        if (post.author != msg.sender) revert OnlyAuthor(tokenId, post.author);
        _checkPrice(newPrice);

        uint256 oldPrice = post.priceInNative;
        post.priceInNative = newPrice;
        emit PostPriceUpdated(tokenId, oldPrice, newPrice);
    }

    /// @dev Checks and keeps a post under the next id.
    function _publish(Post memory post) internal returns (uint256 tokenId) {
        uint256 titleLength = bytes(post.postTitle).length;
        uint256 descriptionLength = bytes(post.description).length;
        uint256 publishedAs = postCidToTokenId[post.postCid];

        if (bytes(post.postCid).length == 0) revert CidMissing();
        if (publishedAs != 0) revert CidAlreadyPublished(publishedAs);
        if (titleLength == 0) revert TitleMissing();
        if (titleLength > MAX_TITLE_BYTES) revert TitleTooLong(titleLength, MAX_TITLE_BYTES);
        if (bytes(post.thumbnailCid).length == 0) revert ThumbnailMissing();
        if (descriptionLength > MAX_DESCRIPTION_BYTES) {
            revert DescriptionTooLong(descriptionLength, MAX_DESCRIPTION_BYTES);
        }
        _checkPrice(post.priceInNative);

        tokenId = nextTokenId++;
        postCidToTokenId[post.postCid] = tokenId;
        _posts[tokenId] = post;
        emit PostCreated(
            tokenId, post.postTitle, post.postCid, post.thumbnailCid, post.author, post.priceInNative
        );
    }

    function _checkPrice(uint256 price) private pure {
        if (price > MAX_PRICE) revert PriceTooHigh(price, MAX_PRICE);
    }

    function _pay(address receiver, uint256 amount) private {
        if (amount == 0) return;
        (bool accepted,) = receiver.call{value: amount}("");
        if (!accepted) revert PaymentRefused(receiver, amount);
    }
}
