import { refKey } from '../../soap/soap.ts';
import type { MoRef } from '../../vcenter.ts';
import { child, childText, elements, referenceOf, textOf, type XmlElement } from '../../xml/xml.ts';
import { type MethodTable, returned } from './method-call.ts';
import { checkVisible, continueRetrieve, exists, filterOf, readAll, retrieve } from './property-retrieval.ts';
import type { ServerSession } from './server-session.ts';
import { found } from './soap-refusal.ts';

const refsOf = (body: XmlElement, name: string): readonly MoRef[] =>
  elements(body, name).map((one) => found(referenceOf(one), undefined));

/** `ContainerView:…` of the references that a list can take; the others, as an answer. */
function members(
  session: ServerSession,
  refs: readonly MoRef[],
  isThere: (ref: MoRef) => boolean,
): { readonly keys: readonly string[]; readonly unresolved: readonly MoRef[] } {
  const isKnown = (ref: MoRef): boolean => (ref.type === 'ContainerView' ? session.views.has(ref.value) : isThere(ref));
  return { keys: refs.filter(isKnown).map(refKey), unresolved: refs.filter((ref) => !isKnown(ref)) };
}

/** Views, property collectors, filters. */
export const viewMethods: readonly MethodTable[] = [
  {
    on: 'ViewManager',
    methods: {
      CreateContainerView: ({ state, session, body }) => {
        const container = found(referenceOf(child(body, 'container')), undefined);
        checkVisible(state, container);
        if (!exists(state, session, container)) found(undefined, container);
        const value = session.newId();
        const types = elements(body, 'type').map(textOf);
        const view = { container, types, recursive: childText(body, 'recursive') === 'true' };
        if (!state.losesViews) session.views.set(value, view);
        return returned({ type: 'ContainerView', value });
      },
      CreateListView: ({ state, session, body }) => {
        const { keys, unresolved } = members(session, refsOf(body, 'obj'), (ref) => exists(state, session, ref));
        if (unresolved[0] !== undefined) found(undefined, unresolved[0]);
        const value = session.newId();
        session.setList(value, new Set(keys));
        return returned({ type: 'ListView', value });
      },
    },
  },
  {
    on: 'ListView',
    methods: {
      ModifyListView: ({ state, session, self, body }) => {
        const list = new Set(found(session.lists.get(self.value), self));
        const added = members(session, refsOf(body, 'add'), (ref) => exists(state, session, ref));
        for (const key of added.keys) list.add(key);
        for (const view of refsOf(body, 'remove')) list.delete(refKey(view));
        session.setList(self.value, list);
        return added.unresolved.map(returned).join('');
      },
      ResetListView: ({ state, session, self, body }) => {
        const { keys, unresolved } = members(session, refsOf(body, 'obj'), (ref) => exists(state, session, ref));
        session.setList(self.value, new Set(keys));
        return unresolved.map(returned).join('');
      },
      DestroyView: ({ session, self }) => {
        session.lists.delete(self.value);
        session.changed();
        return '';
      },
    },
  },
  {
    on: 'ContainerView',
    methods: {
      DestroyView: ({ session, self }) => {
        session.views.delete(self.value);
        session.changed();
        return '';
      },
    },
  },
  {
    on: 'PropertyFilter',
    methods: {
      DestroyPropertyFilter: ({ session, self }) => {
        const collector = found(session.filters.get(self.value), self);
        session.filters.delete(self.value);
        session.collectors.get(collector)?.removeFilter(self.value);
        return '';
      },
    },
  },
  {
    on: 'PropertyCollector',
    methods: {
      CreatePropertyCollector: ({ session }) => returned({ type: 'PropertyCollector', value: session.addCollector() }),
      DestroyPropertyCollector: ({ session, self }) => {
        session.collector(self);
        session.collectors.delete(self.value);
        for (const [id, of] of session.filters) if (of === self.value) session.filters.delete(id);
        session.waits.get(self.value)?.end('RequestCanceled');
        return '';
      },
      CreateFilter: ({ state, session, self, body }) => {
        const value = session.addFilter(self, filterOf(state, session, child(body, 'spec')));
        return returned({ type: 'PropertyFilter', value });
      },
      CancelWaitForUpdates: ({ session, self }) => {
        session.collector(self);
        session.waits.get(self.value)?.end('RequestCanceled');
        return '';
      },
      RetrievePropertiesEx: ({ state, session, body }) => retrieve(state, session, body),
      RetrieveProperties: ({ state, session, body }) =>
        elements(body, 'specSet')
          .flatMap((spec) => readAll(state, session, spec))
          .map((object) => `<returnval>${object}</returnval>`)
          .join(''),
      ContinueRetrievePropertiesEx: ({ session, body }) => continueRetrieve(session, childText(body, 'token') ?? ''),
      CancelRetrievePropertiesEx: ({ session, body }) => {
        session.tokens.delete(childText(body, 'token') ?? '');
        return '';
      },
    },
  },
];
