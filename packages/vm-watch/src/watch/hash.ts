import xxhash from 'xxhash-wasm';

/** 64 bits of any bytes. */
export type Hash64 = (bytes: Uint8Array) => bigint;

/** xxHash64: changes are told by hashes, and 32 bits would lose one change in four thousand million. */
export async function xxHash64(): Promise<Hash64> {
  const api = await xxhash();
  return (bytes) => api.h64Raw(bytes);
}
