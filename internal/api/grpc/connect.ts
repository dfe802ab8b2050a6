/** The one place where the RPC library is imported. */
export {
  Code,
  ConnectError,
  type ConnectRouter,
  createClient,
  createConnectRouter,
  createContextKey,
  createContextValues,
  type HandlerContext,
  type Interceptor,
  type ServiceImpl,
  type Transport,
} from '@connectrpc/connect';
