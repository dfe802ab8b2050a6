/** The one place where the RPC library's part for Node is imported. */
export {
  compressionGzip,
  createGrpcTransport,
  universalRequestFromNodeRequest,
  universalResponseToNodeResponse,
} from '@connectrpc/connect-node';
