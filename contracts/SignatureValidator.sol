// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

/// @title Validates the signature of a contract wallet inside one `eth_call`.
/// @notice Never deployed: the call runs this constructor, which returns one byte: 1 if the
/// signature is valid, 0 if it is not. What a factory creates meanwhile is gone afterwards.
///
/// A wallet that has code is asked as ERC-1271 says. A signature that ends with the mark of
/// ERC-6492 also names a factory and a call that deploys or prepares the wallet; the call is made
/// if the wallet has no code, or does not accept the signature without it.
///
/// Nothing that a wallet or a factory does makes this constructor fail: each call has a limit of
/// gas, the limits together leave enough to return, and nothing that they return is copied but one
/// word. So an error of the node is an error of the node.
contract SignatureValidator {
    /// The selector of `isValidSignature(bytes32,bytes)`, and what it returns for a valid signature.
    bytes4 private constant _MAGIC = 0x1626ba7e;

    /// The last 32 bytes of a signature of ERC-6492.
    uint256 private constant _MARK =
        0x6492649264926492649264926492649264926492649264926492649264926492;

    /// Gas for one question to a wallet: a passkey takes some hundred thousand without a precompile.
    uint256 private constant _WALLET_GAS = 4_000_000;

    /// Gas for a factory: the largest contract takes five million.
    uint256 private constant _FACTORY_GAS = 6_000_000;

    /// Gas without which no further call is made, because nothing may be left to return with.
    uint256 private constant _RESERVE = 100_000;

    constructor(address signer, bytes32 digest, bytes memory signature) {
        bool valid = _isMarked(signature)
            ? _validateMarked(signer, digest, signature)
            : _accepts(signer, digest, signature);
        assembly ("memory-safe") {
            mstore(0, valid)
            return(31, 1)
        }
    }

    /// Validates `abi.encode(factory, prepare, inner)` with the mark behind it.
    function _validateMarked(address signer, bytes32 digest, bytes memory signature)
        private
        returns (bool)
    {
        uint256 length = signature.length - 32;
        if (length < 96) return false;
        uint256 factory = _word(signature, 0);
        if (factory >> 160 != 0) return false;
        (bool hasPrepare, bytes memory prepare) = _bytesAt(signature, length, 32);
        (bool hasInner, bytes memory inner) = _bytesAt(signature, length, 64);
        if (!hasPrepare || !hasInner) return false;
        if (_accepts(signer, digest, inner)) return true;
        return _call(address(uint160(factory)), prepare) && _accepts(signer, digest, inner);
    }

    /// Whether a wallet accepts a signature: its response is exactly the magic value.
    function _accepts(address wallet, bytes32 digest, bytes memory signature)
        private
        view
        returns (bool accepted)
    {
        if (wallet.code.length == 0 || gasleft() < _RESERVE) return false;
        bytes memory question = abi.encodeWithSelector(_MAGIC, digest, signature);
        bytes32 magic = _MAGIC;
        uint256 limit = _WALLET_GAS;
        assembly ("memory-safe") {
            mstore(0, 0)
            let success := staticcall(limit, wallet, add(question, 32), mload(question), 0, 32)
            accepted := and(and(success, eq(returndatasize(), 32)), eq(mload(0), magic))
        }
    }

    /// Calls the factory; what it returns is not read, however long it is.
    function _call(address factory, bytes memory data) private returns (bool success) {
        if (gasleft() < _RESERVE) return false;
        uint256 limit = _FACTORY_GAS;
        assembly ("memory-safe") {
            success := call(limit, factory, 0, add(data, 32), mload(data), 0, 0)
        }
    }

    function _isMarked(bytes memory signature) private pure returns (bool) {
        return signature.length >= 32 && _word(signature, signature.length - 32) == _MARK;
    }

    /// The bytes whose offset is at `place` of the first `length` bytes of some encoded values.
    function _bytesAt(bytes memory encoded, uint256 length, uint256 place)
        private
        pure
        returns (bool, bytes memory found)
    {
        uint256 offset = _word(encoded, place);
        if (offset > length - 32) return (false, found);
        if (_word(encoded, offset) > length - 32 - offset) return (false, found);
        assembly ("memory-safe") {
            // In memory, bytes are their length and what follows, as they are encoded.
            found := add(add(encoded, 32), offset)
        }
        return (true, found);
    }

    function _word(bytes memory from, uint256 place) private pure returns (uint256 word) {
        assembly ("memory-safe") {
            word := mload(add(add(from, 32), place))
        }
    }
}
