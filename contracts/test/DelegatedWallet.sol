// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {ERC7821} from "@openzeppelin/contracts/account/extensions/draft-ERC7821.sol";
import {EIP712} from "@openzeppelin/contracts/utils/cryptography/EIP712.sol";
import {ERC7739} from "@openzeppelin/contracts/utils/cryptography/signers/draft-ERC7739.sol";
import {SignerEIP7702} from "@openzeppelin/contracts/utils/cryptography/signers/SignerEIP7702.sol";

/// @title Code for accounts that delegate to it (EIP-7702): its signatures are nested (ERC-7739),
/// so that one of an account is never one of another account with the same key.
contract DelegatedWallet is ERC7739, ERC7821, SignerEIP7702 {
    constructor() EIP712("DelegatedWallet", "1") {}

    receive() external payable {}
}
