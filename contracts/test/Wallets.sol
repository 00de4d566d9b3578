// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

// The selector of `isValidSignature(bytes32,bytes)`, and what it returns for a valid signature.
bytes4 constant MAGIC = 0x1626ba7e;

/// Recovers who signed `digest` with a signature of 65 bytes; zero if nobody did.
function recover(bytes32 digest, bytes memory signature) pure returns (address) {
    if (signature.length != 65) return address(0);
    bytes32 r;
    bytes32 s;
    uint8 v;
    assembly ("memory-safe") {
        r := mload(add(signature, 32))
        s := mload(add(signature, 64))
        v := byte(0, mload(add(signature, 96)))
    }
    return ecrecover(digest, v, r, s);
}

/// @title A wallet with one owner, who can hand it over.
/// @notice For tests only, like all contracts of this folder. A high `s` is accepted.
contract OwnedWallet {
    address public owner;

    constructor(address owner_) {
        owner = owner_;
    }

    receive() external payable {}

    function setOwner(address owner_) external {
        require(msg.sender == owner);
        owner = owner_;
    }

    /// @notice Lets the owner call any contract as the wallet.
    function execute(address to, uint256 value, bytes calldata data) external {
        require(msg.sender == owner);
        (bool success,) = to.call{value: value}(data);
        require(success);
    }

    function isValidSignature(bytes32 digest, bytes calldata signature)
        external
        view
        virtual
        returns (bytes4)
    {
        address signer = recover(digest, signature);
        return signer != address(0) && signer == owner ? MAGIC : bytes4(0xffffffff);
    }
}

/// @title A wallet that accepts no signature until anybody has called `prepare`.
contract PreparedWallet is OwnedWallet {
    bool public isPrepared;

    constructor(address owner_) OwnedWallet(owner_) {}

    function prepare() external {
        isPrepared = true;
    }

    function isValidSignature(bytes32 digest, bytes calldata signature)
        external
        view
        override
        returns (bytes4)
    {
        require(isPrepared, "not prepared");
        return recover(digest, signature) == owner ? MAGIC : bytes4(0xffffffff);
    }
}

/// @title A wallet whose code is elsewhere; its owner is in its own storage.
contract WalletProxy {
    address private _owner;
    address private immutable _CODE;

    constructor(address code, address owner) {
        _CODE = code;
        _owner = owner;
    }

    receive() external payable {}

    fallback() external payable {
        address code = _CODE;
        assembly {
            calldatacopy(0, 0, calldatasize())
            let success := delegatecall(gas(), code, 0, calldatasize(), 0, 0)
            returndatacopy(0, 0, returndatasize())
            switch success
            case 0 { revert(0, returndatasize()) }
            default { return(0, returndatasize()) }
        }
    }
}

/// @title A wallet of several owners, so many of whom sign one after the other, by rising address.
contract MultiOwnerWallet {
    mapping(address => bool) public isOwner;
    uint256 public immutable THRESHOLD;

    constructor(address[] memory owners, uint256 threshold) {
        for (uint256 i = 0; i < owners.length; ++i) {
            isOwner[owners[i]] = true;
        }
        THRESHOLD = threshold;
    }

    function isValidSignature(bytes32 digest, bytes calldata signatures)
        external
        view
        returns (bytes4)
    {
        require(signatures.length == THRESHOLD * 65, "wrong number of signatures");
        address last = address(0);
        for (uint256 i = 0; i < signatures.length; i += 65) {
            address signer = recover(digest, signatures[i:i + 65]);
            require(signer > last && isOwner[signer], "not an owner");
            last = signer;
        }
        return MAGIC;
    }
}

/// @title Creates contracts at addresses that are known before (CREATE2).
contract WalletFactory {
    /// @notice Creates a contract; does nothing if it is there already.
    function deploy(bytes calldata code, bytes32 salt) external returns (address) {
        bytes32 hash = keccak256(abi.encodePacked(bytes1(0xff), address(this), salt, keccak256(code)));
        address created = address(uint160(uint256(hash)));
        if (created.code.length != 0) return created;
        bytes memory copy = code;
        assembly ("memory-safe") {
            created := create2(0, add(copy, 32), mload(copy), salt)
        }
        require(created != address(0));
        return created;
    }
}
