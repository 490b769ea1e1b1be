import { libraries, libraryFiles, libraryItems } from './library-methods.ts';
import { downloadSessions, updateSessions } from './library-transfers.ts';
import { NOT_FOUND, type RestAnswer, type RestCall } from './rest-call.ts';
import { tagAssociations, tagCategories, tags } from './tag-methods.ts';

export { DATA_PATH, readData, writeData } from './library-transfers.ts';

/** Methods by the beginning of their path; the first match answers. */
const METHODS: readonly (readonly [path: string, run: (call: RestCall) => RestAnswer])[] = [
  ['/com/vmware/cis/tagging/category', tagCategories],
  ['/com/vmware/cis/tagging/tag-association', tagAssociations],
  ['/com/vmware/cis/tagging/tag', tags],
  ['/com/vmware/content/library/item/update', updateSessions],
  ['/com/vmware/content/library/item/download', downloadSessions],
  ['/com/vmware/content/library/item/file', libraryFiles],
  ['/com/vmware/content/library/item', libraryItems],
  ['/com/vmware/content/', libraries],
];

/** Answers a REST call. */
export function runRest(call: RestCall): RestAnswer {
  const method = METHODS.find(([path]) => call.path.startsWith(path));
  return method === undefined ? NOT_FOUND : method[1](call);
}
