/** What a failed connection means, by the code of Node, undici or OpenSSL. */
const reasons = new Map(
  Object.entries({
    ECONNREFUSED: 'connection refused',
    ENOTFOUND: 'host not found',
    EAI_AGAIN: 'host not found',
    ETIMEDOUT: 'no answer',
    EHOSTUNREACH: 'no route to the host',
    ENETUNREACH: 'no route to the host',
    ECONNRESET: 'connection closed',
    EPIPE: 'connection closed',
    UND_ERR_SOCKET: 'connection closed',
    UND_ERR_CONNECT_TIMEOUT: 'no answer',
    UND_ERR_HEADERS_TIMEOUT: 'no answer in time',
    UND_ERR_BODY_TIMEOUT: 'no data for a long time',
    ABORT_ERR: 'no answer in time',
    TimeoutError: 'no answer in time',
    HPE_HEADER_OVERFLOW: 'its headers are too large',
    CERT_HAS_EXPIRED: 'its certificate has expired',
    DEPTH_ZERO_SELF_SIGNED_CERT: 'its certificate is self-signed',
    SELF_SIGNED_CERT_IN_CHAIN: 'its certificate is self-signed',
    UNABLE_TO_VERIFY_LEAF_SIGNATURE: 'its certificate cannot be verified',
    UNABLE_TO_GET_ISSUER_CERT_LOCALLY: 'its certificate cannot be verified',
    ERR_TLS_CERT_ALTNAME_INVALID: 'its certificate is for another name',
  }),
);

/** What an error code says about a connection; undefined for codes of other kinds. */
export function codeReason(code: string): string | undefined {
  return reasons.get(code);
}

/** Why a connection failed, in words; undefined for errors of other kinds. `fetch` has the error of the connection as its cause. */
export function networkReason(error: unknown): string | undefined {
  for (let one: unknown = error, depth = 0; one instanceof Error && depth < 4; one = one.cause, depth++) {
    const { code } = one as NodeJS.ErrnoException;
    const reason = reasons.get(code ?? '') ?? reasons.get(one.name);
    if (reason !== undefined) return reason;
  }
  return undefined;
}
