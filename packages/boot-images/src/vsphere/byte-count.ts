/** Tells by how much a count of bytes grew; less than before is one that began anew. */
export function increases(tell: (more: number) => void): (bytes: number) => void {
  let before = 0;
  return (bytes) => {
    tell(bytes - (bytes < before ? 0 : before));
    before = bytes;
  };
}
