import { ApiError, isNotFound } from '@drydock/kube';

/** All of a list. A kind that is not served has no objects, and one that cannot be read is told. */
export async function listed<T>(list: AsyncIterable<T>, unread: (why: string) => void): Promise<readonly T[]> {
  try {
    return await Array.fromAsync(list);
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    if (!isNotFound(error)) unread(error.message);
    return [];
  }
}
