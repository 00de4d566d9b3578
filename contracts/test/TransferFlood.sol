// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

interface IMarketplace {
    function transfer(address receiver, uint256 id, uint256 amount) external returns (bool);
}

/// @title Fills a block with logs of a marketplace by transfers of no token at all.
/// @notice For tests only: anybody can do this for the price of the gas.
contract TransferFlood {
    /// @notice Writes `count` Transfer logs of the marketplace.
    function flood(IMarketplace marketplace, uint256 count) external {
        for (uint256 i = 0; i < count; ++i) {
            marketplace.transfer(address(this), 1, 0);
        }
    }
}
