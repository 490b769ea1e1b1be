import './page.css';
import { render } from 'preact';
import { App } from './app.tsx';
import { follow } from './store.ts';

const into = document.getElementById('page');
if (into !== null) {
  into.replaceChildren();
  render(<App />, into);
}
follow();
