// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {Account as ERC4337Account} from "@openzeppelin/contracts/account/Account.sol";
import {IERC1271} from "@openzeppelin/contracts/interfaces/IERC1271.sol";
import {IEntryPoint} from "@openzeppelin/contracts/interfaces/IERC4337.sol";
import {SignerP256} from "@openzeppelin/contracts/utils/cryptography/signers/SignerP256.sol";
import {SignerWebAuthn} from "@openzeppelin/contracts/utils/cryptography/signers/SignerWebAuthn.sol";

/// @title A light ERC-4337 account of one passkey, which signs by WebAuthn.
contract PasskeyWallet is ERC4337Account, SignerWebAuthn, IERC1271 {
    IEntryPoint private immutable _entryPoint;

    constructor(IEntryPoint point, bytes32 qx, bytes32 qy) SignerP256(qx, qy) {
        _entryPoint = point;
    }

    function entryPoint() public view override returns (IEntryPoint) {
        return _entryPoint;
    }

    /// @notice Makes a call as this account, once the entry point has checked the operation.
    function execute(address target, uint256 value, bytes calldata data) external onlyEntryPoint {
        (bool success, bytes memory reason) = target.call{value: value}(data);
        if (!success) {
            assembly ("memory-safe") {
                revert(add(reason, 32), mload(reason))
            }
        }
    }

    /// @inheritdoc IERC1271
    function isValidSignature(bytes32 hash, bytes calldata signature)
        external
        view
        returns (bytes4)
    {
        bool valid = _rawSignatureValidation(hash, signature);
        return valid ? IERC1271.isValidSignature.selector : bytes4(0xffffffff);
    }
}
