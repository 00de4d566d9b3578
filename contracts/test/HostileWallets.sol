// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

// The selector of `isValidSignature(bytes32,bytes)`, and what it returns for a valid signature.
bytes4 constant MAGIC = 0x1626ba7e;

// The bytes of a response that is meant to be too long.
uint256 constant MEGABYTE = 1 << 20;

/// The error of ERC-3668, which asks a client to fetch something.
error OffchainLookup(address sender, string[] urls, bytes callData, bytes4 callback, bytes extra);

/// @title A wallet that does what its constructor was told, whoever has signed.
/// @notice For tests only.
contract HostileWallet {
    enum Behaviour {
        Accept,
        Revert,
        RevertWithMagic,
        RevertWithMegabyte,
        UseAllGas,
        LoopForever,
        CallItselfForever,
        ReturnMegabyte,
        ReturnNothing,
        ReturnSelectorOnly,
        Return31Bytes,
        Return33Bytes,
        ReturnTwoWords,
        ReturnDirtyWord,
        ReturnNumber,
        ReturnSecondWord,
        ReturnTrue,
        ReturnZero,
        ReturnOtherMagic,
        ReturnEncodedBytes,
        EchoQuestion,
        WriteAndAccept,
        WriteTransientAndAccept,
        LogAndAccept,
        CreateAndAccept,
        SendValueAndAccept,
        DestroyAndAccept,
        CallBackAndRefuse,
        LookUp,
        AcceptByGas,
        AcceptByBlock,
        AcceptByCaller,
        AcceptByOrigin,
        AcceptByCoinbase,
        AcceptByPrice
    }

    Behaviour public immutable BEHAVIOUR;
    string private _url;
    uint256 public written;

    constructor(Behaviour behaviour, string memory url) {
        BEHAVIOUR = behaviour;
        _url = url;
    }

    function isValidSignature(bytes32, bytes calldata) external returns (bytes4) {
        Behaviour behaviour = BEHAVIOUR;
        if (behaviour <= Behaviour.CallItselfForever) return _fail(behaviour);
        if (behaviour <= Behaviour.EchoQuestion) return _respond(behaviour);
        if (behaviour <= Behaviour.LookUp) return _act(behaviour);
        return _depend(behaviour) ? MAGIC : bytes4(0xffffffff);
    }

    function _fail(Behaviour behaviour) private returns (bytes4) {
        if (behaviour == Behaviour.Revert) revert("no");
        if (behaviour == Behaviour.RevertWithMagic) {
            assembly {
                mstore(0, shl(224, 0x1626ba7e))
                revert(0, 32)
            }
        }
        if (behaviour == Behaviour.RevertWithMegabyte) {
            assembly {
                mstore(0, shl(224, 0x1626ba7e))
                revert(0, MEGABYTE)
            }
        }
        if (behaviour == Behaviour.UseAllGas) {
            assembly {
                invalid()
            }
        }
        if (behaviour == Behaviour.LoopForever) {
            for (uint256 i = 0; true; ++i) {}
        }
        if (behaviour == Behaviour.CallItselfForever) {
            return HostileWallet(payable(address(this))).isValidSignature(0, "");
        }
        return MAGIC;
    }

    function _respond(Behaviour behaviour) private pure returns (bytes4) {
        bytes32 word = MAGIC;
        uint256 start = 0;
        uint256 length = 32;
        if (behaviour == Behaviour.ReturnMegabyte) length = MEGABYTE;
        if (behaviour == Behaviour.ReturnNothing) length = 0;
        if (behaviour == Behaviour.ReturnSelectorOnly) length = 4;
        if (behaviour == Behaviour.Return31Bytes) length = 31;
        if (behaviour == Behaviour.Return33Bytes) length = 33;
        if (behaviour == Behaviour.ReturnTwoWords) length = 64;
        if (behaviour == Behaviour.ReturnDirtyWord) word |= bytes32(uint256(1));
        if (behaviour == Behaviour.ReturnNumber) word = bytes32(uint256(uint32(MAGIC)));
        if (behaviour == Behaviour.ReturnSecondWord) (start, length) = (32, 64);
        if (behaviour == Behaviour.ReturnTrue) word = bytes32(uint256(1));
        if (behaviour == Behaviour.ReturnZero) word = 0;
        // That of isValidSignature(bytes,bytes), an earlier draft of the standard.
        if (behaviour == Behaviour.ReturnOtherMagic) word = bytes4(0x20c13b0b);
        bool encoded = behaviour == Behaviour.ReturnEncodedBytes;
        bool echoes = behaviour == Behaviour.EchoQuestion;
        assembly {
            // Nothing is used of the memory that this writes over.
            codecopy(0, codesize(), 128)
            mstore(start, word)
            if encoded {
                mstore(0, 32)
                mstore(32, 4)
                mstore(64, word)
                length := 96
            }
            if echoes {
                calldatacopy(0, 0, calldatasize())
                length := calldatasize()
            }
            return(0, length)
        }
    }

    function _act(Behaviour behaviour) private returns (bytes4) {
        if (behaviour == Behaviour.WriteAndAccept) written = 1;
        if (behaviour == Behaviour.WriteTransientAndAccept) {
            assembly {
                tstore(0, 1)
            }
        }
        if (behaviour == Behaviour.LogAndAccept) {
            assembly {
                log0(0, 0)
            }
        }
        if (behaviour == Behaviour.CreateAndAccept) {
            assembly {
                pop(create(0, 0, 0))
            }
        }
        if (behaviour == Behaviour.SendValueAndAccept) {
            assembly {
                pop(call(gas(), caller(), 1, 0, 0, 0, 0))
            }
        }
        if (behaviour == Behaviour.DestroyAndAccept) {
            assembly {
                selfdestruct(caller())
            }
        }
        if (behaviour == Behaviour.CallBackAndRefuse) {
            assembly {
                pop(call(gas(), caller(), 0, 0, 0, 0, 0))
                pop(delegatecall(gas(), caller(), 0, 0, 0, 0))
            }
            return bytes4(0xffffffff);
        }
        if (behaviour == Behaviour.LookUp) {
            string[] memory urls = new string[](1);
            urls[0] = _url;
            revert OffchainLookup(address(this), urls, "", this.isValidSignature.selector, "");
        }
        return MAGIC;
    }

    function _depend(Behaviour behaviour) private view returns (bool) {
        if (behaviour == Behaviour.AcceptByGas) return gasleft() > 4_000_000;
        if (behaviour == Behaviour.AcceptByBlock) return block.number % 2 == 0;
        if (behaviour == Behaviour.AcceptByCaller) return msg.sender == address(0);
        if (behaviour == Behaviour.AcceptByOrigin) return tx.origin == address(0);
        if (behaviour == Behaviour.AcceptByCoinbase) return block.coinbase == address(0);
        return tx.gasprice == 0;
    }
}

/// @title A factory that does what its constructor was told.
/// @notice For tests only.
contract HostileFactory {
    enum Behaviour {
        Deploy,
        DeployAndReturnMegabyte,
        DeployElsewhere,
        DeployNothing,
        DeployAndRevert,
        DeployAndRevertWithMegabyte,
        DeployAndUseAllGas,
        DeployAndLoop,
        DeployAndCallBack,
        DeployAndDestroyItself,
        DeployManyTimes,
        LookUp
    }

    Behaviour public immutable BEHAVIOUR;
    string private _url;

    constructor(Behaviour behaviour, string memory url) {
        BEHAVIOUR = behaviour;
        _url = url;
    }

    function deploy(bytes memory code, bytes32 salt) external {
        Behaviour behaviour = BEHAVIOUR;
        if (behaviour == Behaviour.LookUp) {
            string[] memory urls = new string[](1);
            urls[0] = _url;
            revert OffchainLookup(address(this), urls, "", this.deploy.selector, "");
        }
        if (behaviour == Behaviour.DeployNothing) return;
        if (behaviour == Behaviour.DeployElsewhere) salt = ~salt;
        _create(code, salt);
        if (behaviour == Behaviour.DeployAndRevert) revert("no");
        if (behaviour == Behaviour.DeployAndReturnMegabyte) {
            assembly {
                return(0, MEGABYTE)
            }
        }
        if (behaviour == Behaviour.DeployAndRevertWithMegabyte) {
            assembly {
                revert(0, MEGABYTE)
            }
        }
        if (behaviour == Behaviour.DeployAndUseAllGas) {
            assembly {
                invalid()
            }
        }
        if (behaviour == Behaviour.DeployAndLoop) {
            for (uint256 i = 0; true; ++i) {}
        }
        if (behaviour == Behaviour.DeployAndCallBack) {
            assembly {
                pop(call(gas(), caller(), 0, 0, 0, 0, 0))
            }
        }
        if (behaviour == Behaviour.DeployAndDestroyItself) {
            assembly {
                selfdestruct(caller())
            }
        }
        if (behaviour == Behaviour.DeployManyTimes) {
            for (uint256 i = 1; true; ++i) {
                _create(code, bytes32(uint256(salt) + i));
            }
        }
    }

    function _create(bytes memory code, bytes32 salt) private {
        assembly ("memory-safe") {
            pop(create2(0, add(code, 32), mload(code), salt))
        }
    }
}
