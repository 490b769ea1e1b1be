import type { MoRef } from '../../vcenter.ts';
import { child, childText, elements, referenceOf, textOf, type XmlElement } from '../../xml/xml.ts';
import { escapeText } from '../../xml/xml-characters.ts';
import { Refusal } from './refusal.ts';
import { continueRetrieve, type Readable, retrieve, visible } from './retrieve.ts';
import { found, type SyntheticSession } from './session.ts';

/** What a call does in its session; answers what stands in the response element. */
type Method = (session: SyntheticSession, body: XmlElement, of: Readable) => string;

const self = (body: XmlElement): MoRef => found(referenceOf(child(body, '_this')), undefined);
const refs = (body: XmlElement, name: string): readonly MoRef[] =>
  elements(body, name).map((one) => found(referenceOf(one), undefined));
const returned = (type: string, id: string): string => `<returnval type="${type}">${escapeText(id)}</returnval>`;

/** All that a watch calls, but the wait itself. */
export const METHODS: Readonly<Record<string, Method>> = {
  CurrentTime: () => `<returnval>${new Date().toISOString()}</returnval>`,

  CreateContainerView(session, body, { inventory, losesViews, forbidden }) {
    const container = found(referenceOf(child(body, 'container')), undefined);
    visible(forbidden, container);
    if (!inventory.has(container)) found(undefined, container);
    const id = session.id();
    if (!losesViews()) session.views.set(id, container);
    return returned('ContainerView', id);
  },

  CreateListView(session, body) {
    const views = refs(body, 'obj');
    for (const view of views) found(session.views.get(view.value), view);
    const id = session.id();
    session.setList(id, new Set(views.map(({ value }) => value)));
    return returned('ListView', id);
  },

  ModifyListView(session, body) {
    const list = self(body);
    const views = new Set(found(session.lists.get(list.value), list));
    let unresolved = '';
    for (const view of refs(body, 'add')) {
      if (session.views.has(view.value)) views.add(view.value);
      else unresolved += returned(view.type, view.value);
    }
    for (const view of refs(body, 'remove')) views.delete(view.value);
    session.setList(list.value, views);
    return unresolved;
  },

  DestroyView(session, body) {
    const view = self(body);
    if (!session.views.delete(view.value) && !session.lists.delete(view.value)) found(undefined, view);
    session.changed();
    return '';
  },

  CreatePropertyCollector: (session) => returned('PropertyCollector', session.addCollector()),

  DestroyPropertyCollector(session, body) {
    const collector = self(body);
    session.collector(collector);
    session.collectors.delete(collector.value);
    for (const [id, of] of session.filters) if (of === collector.value) session.filters.delete(id);
    session.waits.get(collector.value)?.end('RequestCanceled');
    return '';
  },

  CreateFilter(session, body, { denied, unknownPaths }) {
    const spec = child(body, 'spec');
    const paths = elements(child(spec, 'propSet'), 'pathSet').map(textOf);
    const unknown = paths.find((path) => unknownPaths.has(path));
    if (unknown !== undefined) throw new Refusal('InvalidProperty', `<name>${escapeText(unknown)}</name>`);
    const list = found(referenceOf(child(child(spec, 'objectSet'), 'obj')), undefined);
    return returned('PropertyFilter', session.setFilter(self(body), list, { paths, denied }));
  },

  DestroyPropertyFilter(session, body) {
    const filter = self(body);
    const collector = found(session.filters.get(filter.value), filter);
    session.filters.delete(filter.value);
    session.collectors.get(collector)?.setFilter(undefined);
    return '';
  },

  CancelWaitForUpdates(session, body) {
    session.collector(self(body));
    session.waits.get(self(body).value)?.end('RequestCanceled');
    return '';
  },

  RetrievePropertiesEx: (session, body, of) => retrieve(of, session, body),
  ContinueRetrievePropertiesEx: (session, body) => continueRetrieve(session, childText(body, 'token') ?? ''),

  CancelRetrievePropertiesEx(session, body) {
    session.tokens.delete(childText(body, 'token') ?? '');
    return '';
  },
};
