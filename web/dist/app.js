"use strict";(()=>{var Od=Object.create;var Fi=Object.defineProperty;var Wd=Object.getOwnPropertyDescriptor;var Bd=Object.getOwnPropertyNames;var Ud=Object.getPrototypeOf,Hd=Object.prototype.hasOwnProperty;var Ii=(a,n)=>()=>{try{return n||a((n={exports:{}}).exports,n),n.exports}catch(e){throw n=0,e}};var $d=(a,n,e,t)=>{if(n&&typeof n=="object"||typeof n=="function")for(let r of Bd(n))!Hd.call(a,r)&&r!==e&&Fi(a,r,{get:()=>n[r],enumerable:!(t=Wd(n,r))||t.enumerable});return a};var gt=(a,n,e)=>(e=a!=null?Od(Ud(a)):{},$d(n||!a||!a.__esModule?Fi(e,"default",{value:a,enumerable:!0}):e,a));var Ct=Ii((Om,Rr)=>{"use strict";var Lt=typeof Reflect=="object"?Reflect:null,Fo=Lt&&typeof Lt.apply=="function"?Lt.apply:function(n,e,t){return Function.prototype.apply.call(n,e,t)},ia;Lt&&typeof Lt.ownKeys=="function"?ia=Lt.ownKeys:Object.getOwnPropertySymbols?ia=function(n){return Object.getOwnPropertyNames(n).concat(Object.getOwnPropertySymbols(n))}:ia=function(n){return Object.getOwnPropertyNames(n)};function Tu(a){console&&console.warn&&console.warn(a)}var Mo=Number.isNaN||function(n){return n!==n};function de(){de.init.call(this)}Rr.exports=de;Rr.exports.once=Au;de.EventEmitter=de;de.prototype._events=void 0;de.prototype._eventsCount=0;de.prototype._maxListeners=void 0;var Io=10;function oa(a){if(typeof a!="function")throw new TypeError('The "listener" argument must be of type Function. Received type '+typeof a)}Object.defineProperty(de,"defaultMaxListeners",{enumerable:!0,get:function(){return Io},set:function(a){if(typeof a!="number"||a<0||Mo(a))throw new RangeError('The value of "defaultMaxListeners" is out of range. It must be a non-negative number. Received '+a+".");Io=a}});de.init=function(){(this._events===void 0||this._events===Object.getPrototypeOf(this)._events)&&(this._events=Object.create(null),this._eventsCount=0),this._maxListeners=this._maxListeners||void 0};de.prototype.setMaxListeners=function(n){if(typeof n!="number"||n<0||Mo(n))throw new RangeError('The value of "n" is out of range. It must be a non-negative number. Received '+n+".");return this._maxListeners=n,this};function No(a){return a._maxListeners===void 0?de.defaultMaxListeners:a._maxListeners}de.prototype.getMaxListeners=function(){return No(this)};de.prototype.emit=function(n){for(var e=[],t=1;t<arguments.length;t++)e.push(arguments[t]);var r=n==="error",i=this._events;if(i!==void 0)r=r&&i.error===void 0;else if(!r)return!1;if(r){var o;if(e.length>0&&(o=e[0]),o instanceof Error)throw o;var s=new Error("Unhandled error."+(o?" ("+o.message+")":""));throw s.context=o,s}var l=i[n];if(l===void 0)return!1;if(typeof l=="function")Fo(l,this,e);else for(var d=l.length,c=Bo(l,d),t=0;t<d;++t)Fo(c[t],this,e);return!0};function Go(a,n,e,t){var r,i,o;if(oa(e),i=a._events,i===void 0?(i=a._events=Object.create(null),a._eventsCount=0):(i.newListener!==void 0&&(a.emit("newListener",n,e.listener?e.listener:e),i=a._events),o=i[n]),o===void 0)o=i[n]=e,++a._eventsCount;else if(typeof o=="function"?o=i[n]=t?[e,o]:[o,e]:t?o.unshift(e):o.push(e),r=No(a),r>0&&o.length>r&&!o.warned){o.warned=!0;var s=new Error("Possible EventEmitter memory leak detected. "+o.length+" "+String(n)+" listeners added. Use emitter.setMaxListeners() to increase limit");s.name="MaxListenersExceededWarning",s.emitter=a,s.type=n,s.count=o.length,Tu(s)}return a}de.prototype.addListener=function(n,e){return Go(this,n,e,!1)};de.prototype.on=de.prototype.addListener;de.prototype.prependListener=function(n,e){return Go(this,n,e,!0)};function Su(){if(!this.fired)return this.target.removeListener(this.type,this.wrapFn),this.fired=!0,arguments.length===0?this.listener.call(this.target):this.listener.apply(this.target,arguments)}function zo(a,n,e){var t={fired:!1,wrapFn:void 0,target:a,type:n,listener:e},r=Su.bind(t);return r.listener=e,t.wrapFn=r,r}de.prototype.once=function(n,e){return oa(e),this.on(n,zo(this,n,e)),this};de.prototype.prependOnceListener=function(n,e){return oa(e),this.prependListener(n,zo(this,n,e)),this};de.prototype.removeListener=function(n,e){var t,r,i,o,s;if(oa(e),r=this._events,r===void 0)return this;if(t=r[n],t===void 0)return this;if(t===e||t.listener===e)--this._eventsCount===0?this._events=Object.create(null):(delete r[n],r.removeListener&&this.emit("removeListener",n,t.listener||e));else if(typeof t!="function"){for(i=-1,o=t.length-1;o>=0;o--)if(t[o]===e||t[o].listener===e){s=t[o].listener,i=o;break}if(i<0)return this;i===0?t.shift():Eu(t,i),t.length===1&&(r[n]=t[0]),r.removeListener!==void 0&&this.emit("removeListener",n,s||e)}return this};de.prototype.off=de.prototype.removeListener;de.prototype.removeAllListeners=function(n){var e,t,r;if(t=this._events,t===void 0)return this;if(t.removeListener===void 0)return arguments.length===0?(this._events=Object.create(null),this._eventsCount=0):t[n]!==void 0&&(--this._eventsCount===0?this._events=Object.create(null):delete t[n]),this;if(arguments.length===0){var i=Object.keys(t),o;for(r=0;r<i.length;++r)o=i[r],o!=="removeListener"&&this.removeAllListeners(o);return this.removeAllListeners("removeListener"),this._events=Object.create(null),this._eventsCount=0,this}if(e=t[n],typeof e=="function")this.removeListener(n,e);else if(e!==void 0)for(r=e.length-1;r>=0;r--)this.removeListener(n,e[r]);return this};function Oo(a,n,e){var t=a._events;if(t===void 0)return[];var r=t[n];return r===void 0?[]:typeof r=="function"?e?[r.listener||r]:[r]:e?wu(r):Bo(r,r.length)}de.prototype.listeners=function(n){return Oo(this,n,!0)};de.prototype.rawListeners=function(n){return Oo(this,n,!1)};de.listenerCount=function(a,n){return typeof a.listenerCount=="function"?a.listenerCount(n):Wo.call(a,n)};de.prototype.listenerCount=Wo;function Wo(a){var n=this._events;if(n!==void 0){var e=n[a];if(typeof e=="function")return 1;if(e!==void 0)return e.length}return 0}de.prototype.eventNames=function(){return this._eventsCount>0?ia(this._events):[]};function Bo(a,n){for(var e=new Array(n),t=0;t<n;++t)e[t]=a[t];return e}function Eu(a,n){for(;n+1<a.length;n++)a[n]=a[n+1];a.pop()}function wu(a){for(var n=new Array(a.length),e=0;e<n.length;++e)n[e]=a[e].listener||a[e];return n}function Au(a,n){return new Promise(function(e,t){function r(o){a.removeListener(n,i),t(o)}function i(){typeof a.removeListener=="function"&&a.removeListener("error",r),e([].slice.call(arguments))}Uo(a,n,i,{once:!0}),n!=="error"&&Ru(a,r,{once:!0})})}function Ru(a,n,e){typeof a.on=="function"&&Uo(a,"error",n,e)}function Uo(a,n,e,t){if(typeof a.on=="function")t.once?a.once(n,e):a.on(n,e);else if(typeof a.addEventListener=="function")a.addEventListener(n,function r(i){t.once&&a.removeEventListener(n,r),e(i)});else throw new TypeError('The "emitter" argument must be of type EventEmitter. Received type '+typeof a)}});var Yr=Ii((Jm,Cs)=>{Cs.exports=function(n){return n!==null&&typeof n=="object"&&typeof n.addUndirectedEdgeWithKey=="function"&&typeof n.dropNode=="function"&&typeof n.multi=="boolean"}});var se,Gi,Vd,nt,tr,Xn,zi,Un,Oi,ar,nr,Xd,nn=Symbol.for("pv"),jn={},qn=[],jd=/^m(i|n|o|s|text|space)$/,rr=Array.isArray,Wi=qn.slice,mt=Object.assign;function pt(a){a&&a.parentNode&&a.remove()}function Hn(a,n,e,t,r){var i={type:a,props:n,key:e,ref:t,__k:null,__:null,__b:0,__e:null,__c:null,constructor:nn,__v:r||++Gi,__i:-1,__u:0};return!r&&se.vnode&&se.vnode(i),i}function U(a){return a.children}function $n(a,n){this.props=a,this.context=n,this.__g=0}function at(a,n){if(n==null)return a.__&&at(a.__,a.__i+1);for(var e;n<a.__k.length;n++)if((e=a.__k[n])&&e.__e)return e.__e;return typeof a.type!="function"||a.props.__P?null:at(a)}function qd(a){var n,e=a.__v,t=e.__e,r=[],i=[],o=a.__P;o&&((n=mt({constructor:nn},e)).__v=e.__v+1,se.vnode&&se.vnode(n),ir(o,n,e,a.__n,o.namespaceURI,32&e.__u?[t]:null,r,t||at(e),32&e.__u,i),n.__v=e.__v,n.__.__k[n.__i]=n,Xi(r,n,i),e.__=e.__e=null,n.__e!=t&&Bi(n))}function Bi(a){if((a=a.__)&&a.__c&&!a.props.__P)return a.__e=null,a.__k.some(function(n){return n&&(a.__e=n.__e)}),Bi(a)}function Mi(a){(8&a.__g||(a.__g|=8,nt.push(a),Xn++))&&tr==se.debounceRendering||((tr=se.debounceRendering)||queueMicrotask)(Ui)}function Ui(){try{for(var a,n=1;nt.length;)nt.length>n&&nt.sort(zi),a=nt.shift(),n=nt.length,8&a.__g&&qd(a)}finally{(Xn=nt.length)&&(tr||queueMicrotask)(Ui)}}function Hi(a,n,e,t,r,i,o,s,l,d,c){var f,p,h,v,y,b,g=t.__k||qn,m=n.length;for(l=Kd(e,n,g,l,m),f=0;f<m;f++)(h=e.__k[f])!=null&&(p=~h.__i&&g[h.__i]||jn,h.__i=f,b=ir(a,h,p,r,i,o,s,l,d,c),v=h.__e,(p.ref!=h.ref||8&p.__u)&&(p.ref&&or(p.ref,null,h,p),h.ref&&c.push(h.ref,h.__c||v,h)),y=y||v,4&h.__u?(l=$i(h,l,a,!p.__v),p.__e&&(p.__e=null)):typeof h.type=="function"&&b!==void 0?l=b:v&&(l=v.nextSibling),h.__u&=-21);return e.__e=y,l}function Kd(a,n,e,t,r){var i,o,s,l,d,c,f,p,h,v=e.length,y=v,b=0,g=0,m=a.__k=Array(r);for(i=0;i<r;i++)(o=n[i])!=null&&typeof o!="boolean"&&typeof o!="function"?(typeof o!="object"||o.constructor===String?o=m[i]=Hn(null,o):rr(o)?o=m[i]=Hn(U,{children:o}):o.constructor===nn&&o.__b?o=m[i]=Hn(o.type,o.props,o.key,o.ref,o.__v):m[i]=o,l=i+b,o.__=a,o.__b=a.__b+1,s=null,~(d=o.__i=Yd(o,e,l,y))&&(y--,(s=e[d])&&(s.__u|=2)),s&&s.__v?(o.__u|=16,d==l-1?b--:d==l+1?b++:d!=l&&(d>l?b--:b++,g=1)):(~d||(r>v?b--:r<v&&b++),typeof o.type!="function"&&(o.__u|=4))):m[i]=null;if(g){for(c=[],f=[],i=0;i<r;i++)if((o=m[i])&&16&o.__u){for(b=0,p=c.length;b<p;)c[h=b+p>>1]<o.__i?b=h+1:p=h;c[b]=o.__i,f[i]=b+1}for(b=c.length;i--;)f[i]&&(f[i]==b?b--:m[i].__u|=4)}if(y)for(i=0;i<v;i++)!(s=e[i])||2&s.__u||(s.__e==t&&(t=at(s)),sr(s,s));return t}function $i(a,n,e,t){var r,i,o,s;if(typeof a.type=="function"){if(a.props.__P)return n;if(r=a.__k)for(i=0;i<r.length;i++)r[i]&&(r[i].__=a,n=$i(r[i],n,e,!1));return n}for(n&&!n.parentNode&&(n=at(a))&&!n.parentNode&&(n=null),o=a.__e,s=n;s&&s.nodeType==8;)s=s.nextSibling;for(o!=s&&(!t&&e.moveBefore&&o.parentNode?e.moveBefore(o,n):e.insertBefore(o,n||null)),n=o;(n=n&&n.nextSibling)&&n.nodeType==8&&!n.data.startsWith("$s"););return n}function Yd(a,n,e,t){var r,i=a.key,o=a.type,s=n[e],l=s&&!(2&s.__u);if(s===null&&i==null||l&&i==s.key&&o==s.type)return e;if(t>(l?1:0)){for(r=e-1;r>=0;r--)if((s=n[r])&&!(2&s.__u)&&i==s.key&&o==s.type)return r;for(r=e+1;r<n.length;r++)if((s=n[r])&&!(2&s.__u)&&i==s.key&&o==s.type)return r}return-1}function Ni(a,n,e){e==null&&(e=""),n[0]=="-"?a.setProperty(n,e):a[n]=e}function Bn(a,n,e,t,r){var i,o;if(n=="style")if(typeof e=="string")a.style.cssText=e;else{if(typeof t=="string"&&(a.style.cssText=t=""),t)for(n in t)e&&n in e||Ni(a.style,n);if(e)for(n in e)t&&e[n]==t[n]||Ni(a.style,n,e[n])}else if(n[0]=="o"&&n[1]=="n")typeof e!="function"&&(e=null),typeof t!="function"&&(t=null),(a.__e||(a.__e={}))[n]=e,e&&t||(o=nr[n]||(nr[n]=Zd(n)),(a.__a||(a.__a={}))[n]=ar,i=n!=(n=n.replace(Oi,"$1")),(n=n.slice(2))[0]<"a"&&(n=n.toLowerCase()),e?a.addEventListener(n,o,i):a.removeEventListener(n,o,i));else{if(r=="http://www.w3.org/2000/svg")n=n.replace(/xlink(H|:h)/,"h").replace(/sName$/,"s");else if(n!="width"&&n!="height"&&n!="href"&&n!="list"&&n!="form"&&n!="tabIndex"&&n!="download"&&n!="rowSpan"&&n!="colSpan"&&n!="role"&&n!="popover"&&n in a)try{return void(a[n]=e??"")}catch{}if(typeof e=="function")return;e==null||e===!1&&n[4]!="-"?a.removeAttribute(n):a.setAttribute(n,n=="popover"&&e==1?"":e)}}function Zd(a){return function(n){var e=this.__e;if(e){if(e=e[a],n[Un]==null)n[Un]=ar++;else if(n[Un]<this.__a[a])return;return e(se.event?se.event(n):n)}}}function ir(a,n,e,t,r,i,o,s,l,d){var c,f,p,h,v,y,b,g,m,_,x,T,S,A,E,D,k,P,R=n.type;if(n.constructor!==nn)return null;128&e.__u&&(l=32&e.__u,c=e.__c.__z)&&(n.__u|=l,f=i=[],c.nodeType==8?s=Vn(c,i):i.push(c),s=i[0]||s),(c=se.__b)&&c(n);e:if(typeof R=="function"){p=o.length;try{if(g=n.props,m=(c=R.prototype)&&c.render,_=(c=R.contextType)&&t[c.__c],x=c?_?_.props.value:c.__:t,(h=e.__c)?(n.__c=h,2&h.__g&&(h.__g|=1)):(m?n.__c=h=new R(g,x):(n.__c=h=new $n(g,x),h.constructor=R,h.render=Jd),_&&_.sub(h),h.state||(h.state={}),h.__n=t,h.__g|=8,h.__h=[],h.__k=[]),m&&(h.__s||(h.__s=h.state),R.getDerivedStateFromProps&&(h.__s==h.state&&(h.__s=mt({},h.__s)),mt(h.__s,R.getDerivedStateFromProps(g,h.__s)))),v=h.props,y=h.state,h.__v=n,e.__c){if(g!==v&&m&&!R.getDerivedStateFromProps&&h.componentWillReceiveProps&&h.componentWillReceiveProps(g,x),n.__v==e.__v&&!(8&h.__g)||!(4&h.__g)&&h.shouldComponentUpdate&&h.shouldComponentUpdate(g,h.__s,x)===!1){n.__v!=e.__v&&(h.props=g,h.state=h.__s,h.__g&=-9),n.__e=e.__e,n.__k=e.__k,n.__k.some(function(C){C&&(C.__=n)}),qn.push.apply(h.__h,h.__k),h.__k=[],h.__h.length&&o.push(h),s=at(e);break e}h.componentWillUpdate&&h.componentWillUpdate(g,h.__s,x),m&&h.componentDidUpdate&&h.__h.push(function(){h.componentDidUpdate(v,y,b)})}else m&&!R.getDerivedStateFromProps&&h.componentWillMount&&h.componentWillMount(),m&&h.componentDidMount&&h.__h.push(h.componentDidMount);h.context=x,h.props=g,h.__P=a,h.__g&=-5,T=se.__r,S=m?25:0;do h.__g&=-9,T&&T(n),c=h.render(h.props,h.state=h.__s,h.context);while(8&h.__g&&++S<25);m&&(qn.push.apply(h.__h,h.__k),h.__k=[]),h.state=h.__s,h.getChildContext&&(t=mt({},t,h.getChildContext())),m&&e.__c&&h.getSnapshotBeforeUpdate&&(b=h.getSnapshotBeforeUpdate(v,y)),A=c&&c.type===U&&c.key==null?c.props.children:c,g.__P&&(c=s,r=(a=g.__P).namespaceURI,l=i=null,e.props&&e.props.__P!=a&&(e.__k.some(function(C){C&&sr(C,C)}),e.__k=null),s=e.__k?at(e,0):null),s=Hi(a,rr(A)?A:[A],n,e,t,r,i,o,s,l,d),g.__P&&(n.__e=null,s=c),n.__u&=-161,f&&f.some(pt),h.__h.length&&o.push(h),1&h.__g&&(h.__g&=-4)}catch(C){if(o.length=p,n.__v=null,l||i)if(C&&C.then){if(n.__u|=128|l,i){for(~(k=i.indexOf(s||void 0))||(k=i.length);(P=i[k-1])&&P.nodeType==8;)k--;for(;k<i.length;k++)if(P=i[k])if(i[k]=null,E){if(P==D)break}else{if(P.nodeType!=8)break;P.data.startsWith("$s")&&(D=Vn(E=P))}}if(!E){for(;s&&s.nodeType==8&&s.nextSibling;)s=s.nextSibling;E=s}(c=Vn(E=n.__c.__z||(n.__c.__z=E)))?(n.__e=E,s=c):n.__e=s,s=s&&s.nextSibling}else i&&i.some(pt);else n.__e=e.__e;n.__k||(n.__k=e.__k||[]),C&&C.then||Vi(n),se.__e(C,n,e)}}else s=n.__e=Qd(e.__e,n,e,t,r,i,o,l,d,a);return(c=se.diffed)&&c(n),s}function Vn(a,n){if(a&&a.nodeType==8&&a.data.startsWith("$s"))for(var e=1;a=a.nextSibling;){if(a.nodeType==8){if(a.data.startsWith("$s"))e++;else if(a.data.startsWith("/$s")&&!--e)return a}n&&n.push(a)}}function Vi(a){a&&(a.__c&&(a.__c.__g|=4),a.__k&&a.__k.some(Vi))}function Xi(a,n,e){for(var t=0;t<e.length;)or(e[t++],e[t++],e[t++]);se.__c&&se.__c(n,a),a.some(function(r){try{a=r.__h,r.__h=[],a.some(function(i){i.call(r)})}catch(i){se.__e(i,r.__v)}})}function Qd(a,n,e,t,r,i,o,s,l,d){var c,f,p,h,v,y,b,g,m=e.props||jn,_=n.props,x=n.type;if(x=="svg"?r="http://www.w3.org/2000/svg":x=="math"?r="http://www.w3.org/1998/Math/MathML":r||(r="http://www.w3.org/1999/xhtml"),i){for(c=0;c<i.length;c++)if((v=i[c])&&(x?v.localName==x:v.nodeType==3)){a=v,i[c]=null;break}}if(!a){if(g=d.ownerDocument||document,!x)return g.createTextNode(_);a=g.createElementNS(r,x,_.is?_:d),s&&(se.__m&&se.__m(n,i),s=!1),i=null}if(x){if(d=x=="template"&&a.content||a,i=x=="textarea"&&_.defaultValue!=null?null:i&&Wi.call(d.childNodes),!s&&i)for(m={},c=0;c<a.attributes.length;c++)m[(v=a.attributes[c]).name]=v.value;for(c in m)v=m[c],c=="dangerouslySetInnerHTML"?p=v:c=="children"||c in _||c=="value"&&"defaultValue"in _||c=="checked"&&"defaultChecked"in _||Bn(a,c,null,v,r);for(c in _)v=_[c],c=="children"?h=v:c=="dangerouslySetInnerHTML"?f=v:c=="value"?y=v:c=="checked"?b=v:s&&typeof v!="function"||m[c]===v||Bn(a,c,v,m[c],r);f?(s||p&&(f.__html==p.__html||f.__html==a.innerHTML)||(a.innerHTML=f.__html),n.__k=[]):(p&&(a.textContent=""),(x=="foreignObject"||r=="http://www.w3.org/1998/Math/MathML"&&jd.test(x))&&(r="http://www.w3.org/1999/xhtml"),Hi(d,rr(h)?h:[h],n,e,t,r,i,o,i?i[0]:e.__k&&at(e,0),s,l),i&&i.some(pt)),s&&x!="textarea"||(c="value",x=="progress"&&y==null?a.removeAttribute(c):y==null||y===a[c]&&(x!="progress"||y)||Bn(a,c,y,m[c],r),c="checked",b!=null&&b!=a[c]&&Bn(a,c,b,m[c],r))}else m===_||s&&a.data==_||(a.data=_);return a}function or(a,n,e,t){try{typeof a=="function"?n?n.__x=a(n)||1:t&&(t=t.__c||t.__e)&&(n=t.__x)&&(t.__x=null,typeof n=="function"?n():a(null)):a.current=n}catch(r){se.__e(r,e)}}function sr(a,n,e){var t,r,i,o;if(se.unmount&&se.unmount(a),!(t=a.ref)||t.current&&t.current!=a.__e||or(t,null,n,a),t=a.__c){if(t.componentWillUnmount)try{t.componentWillUnmount()}catch(s){se.__e(s,n)}t.__P=t.__n=null}if(t=a.__k)for(o=0;o<t.length;o++)t[o]&&sr(t[o],n,typeof a.type!="function"||e&&!a.props.__P);!e&&(t=a.__c)&&(t=t.__z)&&(r=Vn(t,i=[]))&&(t==a.__e&&i.some(pt),pt(r),pt(t)),e||pt(a.__e),a.__e=a.__c=a.__=null}function Jd(a,n,e){return this.constructor(a,e)}function ji(a,n){var e,t,r,i;se.__&&se.__(a,n),n.nodeType==9&&(n=n.documentElement),t=(e=a&&32&a.__u)?null:n.__k,n.__k=Hn(U,{children:[a]}),r=[],i=[],ir(n,n.__k,t||jn,jn,n.namespaceURI,t?null:n.firstChild?Wi.call(n.childNodes):null,r,t?t.__e:n.firstChild,e,i),Xi(r,n.__k,i),n.__k.props.children=null}se={__e:function(a,n,e,t){for(var r,i,o;n=n.__;)if((r=n.__c)&&!(1&r.__g)){r.__g|=4;try{if((o=(i=r.constructor)&&i.getDerivedStateFromError)&&r.setState(i.getDerivedStateFromError(a)),r.componentDidCatch&&(r.componentDidCatch(a,t||{}),o=1),o&&8&r.__g)return void(r.__g|=2)}catch(s){a=s}}throw Xn=0,a}},Gi=0,Vd=function(a){return a!=null&&a.constructor===nn},$n.prototype.setState=function(a,n){var e=this.__s;e&&e!=this.state||(e=this.__s=mt({},this.state)),typeof a=="function"&&(a=a(mt({},e),this.props)),a&&(mt(e,a),this.__v&&(n&&this.__k.push(n),Mi(this)))},$n.prototype.forceUpdate=function(a){this.__v&&(this.__g|=4,a&&this.__h.push(a),Mi(this))},$n.prototype.render=U,nt=[],Xn=0,zi=function(a,n){return a.__v.__b-n.__v.__b},Un=Symbol(),Oi=/(PointerCapture)$|Capture$/i,ar=0,nr={},Xd=0;var rn,ve,lr,qi,dr=Object.is,Kn=0,ao=[],ur=[],me=se,Ki=me.__b,Yi=me.__r,Zi=me.diffed,Qi=me.__c,Ji=me.unmount,eo=me.__;function hr(a,n){me.__h&&me.__h(ve,a,Kn||n),Kn=0;var e=ve.__H||(ve.__H={__:[],__h:[]});return a>=e.__.length&&e.__.push({}),e.__[a]}function j(a){return Kn=1,fr(io,a)}function fr(a,n,e){var t=hr(rn++,2);if(t.t=a,!t.__c&&(t.__=[e?e(n):io(void 0,n),function(i){var o=(t.__N||t.__)[0],s=t.t(o,i);dr(o,s)||(t.__N=[s,t.__[1]],t.__c.setState({}))}],t.__c=ve,!ve.__f)){ve.__f=!0;var r=ve.shouldComponentUpdate;ve.shouldComponentUpdate=function(i,o,s){var l=this.__H;if(!l)return!0;var d=!1,c=this.props!=i;if(l.__.some(function(p){p.__N&&(d=!0,dr(p.__[0],p.__N[0])||(c=!0))}),r){var f=r.call(this,i,o,s);return d?f||c:f}return!d||c}}return t.__}function oe(a,n){var e=hr(rn++,3);!me.__s&&ro(e.__H,n)&&(e.__P=!0,e.__=a,e.u=n,ve.__H.__h.push(e))}function vt(a){return Kn=5,Ie(function(){return{current:a}},[])}function Ie(a,n){var e=hr(rn++,7);return ro(e.__H,n)&&(e.__=a(),e.__H=n),e.__}function eu(){var a;do{for(;a=ur.shift();)try{an(a)}catch(e){me.__e(e,{__:(a=a.__P)&&a.__v})}for(;a=ao.shift();){var n=a.__H;if(a.__P&&n)try{n.__h.some(an),n.__h.some(cr),n.__h=[]}catch(e){n.__h=[],me.__e(e,a.__v)}}}while(ur.length)}me.__b=function(a){ve=null,Ki&&Ki(a)},me.__=function(a,n){a&&n.__k&&n.__k.__m&&(a.__m=n.__k.__m),eo&&eo(a,n)},me.__r=function(a){Yi&&Yi(a),rn=0;var n=(ve=a.__c).__H;n&&(lr==ve?ve.__h=[]:(n.__h.some(an),n.__h.some(cr),rn=0),n.__h=[],n.__.some(function(e){e.__N&&(e.__=e.__N),e.u=e.__N=void 0})),lr=ve},me.diffed=function(a){Zi&&Zi(a);var n=a.__c;n&&n.__H&&(n.__H.__h.length&&no(ao.push(n)),n.__H.__.some(function(e){e.u&&(e.__H=e.u)})),lr=ve=null},me.__c=function(a,n){n.some(function(e){try{e.__h.some(an),e.__h=e.__h.filter(function(t){return!t.__||cr(t)})}catch(t){e.__h=[function(){throw t}]}}),Qi&&Qi(a,n)},me.unmount=function(a){Ji&&Ji(a);var n,e,t=a.__c;t&&t.__H&&(t.__H.__.some(function(r){try{if(r.__P&&r.__c){if(e===void 0){for(e=a.__;e&&(!e.__c||!e.__c.__P);)e=e.__;e=e&&e.__c}r.__P=e,no(ur.push(r))}else an(r)}catch(i){n=i}}),t.__H=void 0,n&&me.__e(n,t.__v))};var to=typeof requestAnimationFrame=="function";function tu(a){var n,e=function(){clearTimeout(t),to&&cancelAnimationFrame(n),setTimeout(a)},t=setTimeout(e,35);to&&(n=requestAnimationFrame(e))}function no(a){a!=1&&qi==me.requestAnimationFrame||((qi=me.requestAnimationFrame)||tu)(eu)}function an(a){var n=ve,e=a.__c;typeof e=="function"&&(a.__c=void 0,e()),ve=n}function cr(a){var n=ve;a.__c=a.__(),ve=n}function ro(a,n){return!a||a.length!=n.length||n.some(function(e,t){return!dr(e,a[t])})}function io(a,n){return typeof n=="function"?n(a):n}var Yn="ferrosm-token";var ce=class extends Error{constructor(e,t,r,i){super(r);this.status=e;this.kind=t;this.remedy=i}status;kind;remedy},so=()=>{};function lo(a){so=a}function Zn(){let a=localStorage.getItem(Yn);return a?{"x-ferrosm-token":a}:{}}async function on(a,n,e){let t;try{t=await fetch(n,{method:a,headers:e===void 0?Zn():{...Zn(),"content-type":"application/json"},body:e===void 0?void 0:JSON.stringify(e),cache:"no-store"})}catch{throw new ce(0,"unreachable","the service does not answer","Check that ferrosm runs, and the tunnel if there is one.")}if(t.status===204)return;let r;try{r=await t.json()}catch{throw new ce(t.status,"internal",`status ${t.status} without an answer`,"")}if(!t.ok){let{kind:i,message:o,remedy:s}=r?.error??{kind:"internal",message:`status ${t.status}`,remedy:""},l=new ce(t.status,i,o,s);throw t.status===401&&n!=="/session"&&so(l),l}return r}function gr(a,n){let e=new URLSearchParams;for(let[r,i]of Object.entries(n))i!==void 0&&i!==""&&e.set(r,String(i));let t=e.toString();return`/v1/${a}${t?`?${t}`:""}`}async function Ee(a,n={}){for(let e=1;;e+=1)try{return await on("GET",gr(a,n))}catch(t){if(!(t instanceof ce&&t.kind==="busy"&&e<5))throw t;await new Promise(i=>setTimeout(i,500*e))}}var oo=1e4;async function pr(a,n={}){let e=await Ee(a,{...n,limit:oo}),t=e,r=[...e.items];for(;e.next;)e=await Ee(a,{...n,limit:oo,cursor:e.next}),r.push(...e.items);return{...t,items:r}}async function bt(a,n={},e){return await on("POST",gr(a,n),e)}async function uo(a){let n=await fetch(gr("drawing.svg",a),{headers:Zn(),cache:"no-store"});if(!n.ok)throw new ce(n.status,"internal",`no drawing: status ${n.status}`,"Without routes there is no drawing.");let e=document.createElement("a");e.href=URL.createObjectURL(await n.blob()),e.download="fabric.svg",e.click(),URL.revokeObjectURL(e.href)}async function co(){let a=/^#login=(.+)$/.exec(location.hash)?.[1];if(a){history.replaceState(null,"","/#/overview");let n=await on("POST","/session",{link:a});return localStorage.setItem(Yn,n.token),n}if(localStorage.getItem(Yn))return await on("GET","/session")}async function ho(){await on("DELETE","/session"),localStorage.removeItem(Yn)}function fo(a,n,e){let t=new AbortController,r=!1,i=a,o=async()=>{let d=await fetch(`/v1/events?since=${i}`,{headers:{...Zn(),accept:"text/event-stream"},signal:t.signal});if(!d.ok||!d.body)throw new Error(`status ${d.status}`);e(!0);let c=d.body.pipeThrough(new TextDecoderStream).getReader(),f="";for(;;){let{done:p,value:h}=await c.read();if(p)return;let v=(f+h).split(`

`);f=v.pop()??"";for(let y of v){let b=_=>y.split(`
`).find(x=>x.startsWith(`${_}:`))?.slice(_.length+1).trim(),g=Number(b("id"));g&&(i=g);let m=b("data");m&&b("event")===void 0&&n(JSON.parse(m))}}},s=async()=>{for(;!r;){if(document.hidden){await new Promise(d=>document.addEventListener("visibilitychange",d,{once:!0}));continue}t=new AbortController;try{await o()}catch{}e(!1),document.hidden||await new Promise(d=>setTimeout(d,2e3))}},l=()=>{document.hidden&&t.abort()};return document.addEventListener("visibilitychange",l),s(),()=>{r=!0,document.removeEventListener("visibilitychange",l),t.abort()}}function go(a,n){let e=[...a.switches];for(let t of n){let r=nu(a,t);if(!r)continue;let i=l=>l.level===r.level&&l.group===r.group,o=e.findIndex(l=>i(l)&&l.guid>r.guid),s=e.findLastIndex(i);e.splice(o>=0?o:s>=0?s+1:e.length,0,r)}return{...a,switches:e}}function nu(a,{guid:n,neighbours:e,hasHosts:t}){if(e.length!==0)switch(a.kind){case"tree":{let r=e.map(d=>d.level??0),i=Math.min(...r),o=Math.max(...r),s=i<o?Math.round((i+o)/2):t||i===a.levels-1?i-1:i+1,l=s>=a.levels-1?void 0:mr(e.flatMap(d=>d.group??[]));return s<0?void 0:{guid:n,level:s,group:l}}case"grid":{let r=a.dimensions.map((o,s)=>mr(e.map(l=>l.coordinates?.[s]??0)));return!a.switches.some(o=>o.coordinates?.every((s,l)=>s===r[l]))?{guid:n,coordinates:r}:void 0}case"dragonfly":return{guid:n,group:mr(e.flatMap(r=>r.group??[])),level:a.levels>0?+!t:void 0};case"unknown":return}}function mr(a){let n=new Map;for(let e of a)n.set(e,(n.get(e)??0)+1);return[...n].sort((e,t)=>t[1]-e[1]||e[0]-t[0])[0]?.[0]}var Qn=class{constructor(n,e,t){this.links=e;for(let r of n)this.nodes.set(r.guid,r);e.forEach((r,i)=>{for(let{guid:o,name:s}of[r.a,r.b]){this.nodes.has(o)||this.nodes.set(o,{guid:o,name:s,location:s,kind:"ca",lids:[],ports:0,ports_linked:0,state:"absent"});let l=this.linksOf.get(o);l?l.push(i):this.linksOf.set(o,[i])}});for(let r of this.nodes.values()){if(this.byName.has(r.name)||this.byName.set(r.name,r.guid),r.kind==="switch")continue;let i=this.neighbours(r.guid).find(s=>this.nodes.get(s)?.kind==="switch");if(i===void 0)continue;this.homeOf.set(r.guid,i);let o=this.hostsOf.get(i);o?o.push(r.guid):this.hostsOf.set(i,[r.guid])}this.structure=t&&this.completed(t);for(let r of this.structure?.switches??[])this.places.set(r.guid,r)}links;nodes=new Map;byName=new Map;structure;places=new Map;linksOf=new Map;homeOf=new Map;hostsOf=new Map;completed(n){let e=new Map(n.switches.map(r=>[r.guid,r])),t=[...this.nodes.values()].filter(r=>r.kind==="switch"&&!e.has(r.guid));return go(n,t.map(({guid:r})=>({guid:r,neighbours:this.neighbours(r).flatMap(i=>e.get(i)??[]),hasHosts:this.hostsOf.has(r)})))}neighbours(n){return(this.linksOf.get(n)??[]).map(e=>this.otherEnd(e,n))}otherEnd(n,e){let t=this.links[n];return t.a.guid===e?t.b.guid:t.a.guid}switches(){let n=[...this.places.keys()].filter(t=>this.nodes.has(t)),e=[...this.nodes.values()].filter(t=>t.kind==="switch"&&!this.places.has(t.guid));return[...n,...e.map(t=>t.guid)]}name(n){return this.nodes.get(n)?.name||n}linkAt(n,e){return this.linksOf.get(n)?.find(t=>{let{a:r,b:i}=this.links[t];return r.guid===n&&r.port===e||i.guid===n&&i.port===e})}find(n){let[e]=n.split(" - "),t=e.trim();if(this.nodes.has(t))return{node:t};let r=this.byName.get(t);if(r!==void 0)return{node:r};let i=t.lastIndexOf("/");if(i<0)return{};let o=Number(t.slice(i+1)),{node:s}=this.find(t.slice(0,i));return s===void 0?{}:{link:this.linkAt(s,o)}}};function Me(a){return`${a.a.name||a.a.guid}/${a.a.port} – ${a.b.name||a.b.guid}/${a.b.port}`}function po(a,n){let e=a.nodes.get(n.a.guid)?.kind==="switch"?n.a:n.b;return`${e.name||e.guid}/${e.port}`}var mo=500,au=5e3,ru=1e3,iu=3,we={isLive:!1,isPlanning:!1,alarms:[],events:[]},br=new Set;function xe(a){we={...we,...a};for(let n of br)n()}function re(){let[,a]=fr(e=>e+1,0),n=we;return oe(()=>{let e=()=>a(void 0);return br.add(e),we!==n&&e(),()=>{br.delete(e)}},[]),we}var Dt=-1,_o=!1,vo=-1;async function xo(){let a=we.at,n=Dt<0?yo():void 0;try{let[e,t,r]=await Promise.all([Ee("status",{at:a}),Ee("health",{at:a}),Ee("alarms",{limit:1e3,where:"state!=cleared"})]);if(a!==we.at)return;xe({status:e,answered:e,health:t,alarms:r.items,error:void 0}),n?await n:e.revision!==Dt&&await yo()}catch(e){e instanceof ce&&e.status!==401&&xe({error:e})}}var sn,bo="";async function ou(){try{return await Ee("structure")}catch(a){if(!(a instanceof ce))throw a;return}}async function yo(){let a=we.at;try{let[n,e]=await Promise.all([pr("nodes",{at:a}),pr("links",{at:a})]),t=`${n.items.filter(i=>i.state==="present").length} ${e.items.filter(i=>i.state!=="down").length}`,r=n.items.some(i=>i.kind==="switch"&&i.state==="present");if(r||(sn=void 0),!a&&r&&(t!==bo||!sn)&&(sn=await ou(),sn&&(bo=t)),a!==we.at)return;Dt=n.revision,xe({model:new Qn(n.items,e.items,sn),modelAt:a,fabricError:void 0}),_o&&!a&&await To()}catch(n){n instanceof ce&&n.status!==401&&xe({fabricError:n,model:void 0,modelAt:a})}}async function To(){if(vo===Dt&&we.load)return;let a=Dt;xe({load:await Ee("load")}),vo=a}async function So(){_o=!0;try{await To()}catch(a){a instanceof ce&&a.status!==401&&xe({error:a})}}async function Eo(a){xe({isPlanning:!0,planError:void 0});try{xe({plan:await Ee("plan",{accept:a.join(",")})})}catch(n){n instanceof ce&&xe({planError:n})}xe({isPlanning:!1})}var vr=!1,Jn=!1;function Ze(){Jn=!0,!vr&&(vr=!0,(async()=>{for(;Jn;){Jn=!1;let a=performance.now();we.session&&await xo();let n=Math.max(ru,iu*(performance.now()-a));await new Promise(e=>setTimeout(e,n))}vr=!1})())}function ln(a){Dt=-1,xe({at:a}),Jn=!1,xo()}var yr;async function wo(){lo(r=>{yr?.(),xe({session:null,loginError:r,model:void 0,plan:void 0,isLive:!1})});try{let r=await co();if(xe({session:r??null}),!r)return}catch(r){r instanceof ce&&xe({session:null,loginError:r});return}Ze();let a=()=>{document.hidden||Ze()},n=setInterval(a,au);document.addEventListener("visibilitychange",a);let e=0;try{let r=await Ee("events");e=r.last,xe({events:r.items.slice(-mo).reverse()})}catch{}let t=fo(e,r=>{xe({events:[r,...we.events].slice(0,mo)}),we.at||Ze()},r=>r!==we.isLive&&xe({isLive:r}));yr=()=>{clearInterval(n),document.removeEventListener("visibilitychange",a),t()}}function Le(){return we.session?.role==="operate"||we.session?.role==="admin"}function Ao(){yr?.(),xe({session:null,loginError:void 0,model:void 0,plan:void 0})}var su=Symbol.for("pv"),lu=0;function u(a,n,e,t,r,i){n||(n={});var o,s,l=n;if("ref"in l&&typeof a!="function")for(s in l={},n)s=="ref"?o=n[s]:l[s]=n[s];var d={type:a,props:l,key:e,ref:o,__k:null,__:null,__b:0,__e:null,__c:null,constructor:su,__v:--lu,__i:-1,__u:0};return(r||i)&&(d.__source=r,d.__self=i),se.vnode&&se.vnode(d),d}function dn(){let a=du(re());return a?u("section",{class:"card advice","aria-labelledby":"advice-title",children:[u("h2",{id:"advice-title",children:a.title}),u("ol",{children:a.steps.map((n,e)=>u("li",{children:n},e))})]}):null}function du({status:a,answered:n,at:e}){if(!(!a||!n||e)){if(a.awaits_consent)return{title:"The SM waits for your consent",steps:[u(U,{children:["Another SM configured this subnet: ",a.awaits_consent,"."]}),u(U,{children:["See what would change: ",u("a",{href:"#/plan",children:"the plan of a start"}),", or ",u("code",{children:"ferrosm plan"}),"."]}),u(U,{children:["Consent: ",u("code",{children:"ferrosm takeover --accept KIND"}),", or name it in the configuration."]})]};if(n.role==="standby"){let t=n.master;return{title:"This SM is standby",steps:[u(U,{children:["The master is ",t?`${t.name} (${t.location})`:"another SM",". It has the state of the fabric: open the page on its host."]}),u(U,{children:["This SM takes over if the master fails. To make it master now: ",u("code",{children:"ferrosm handover"})," on the host of the master."]})]}}if(n.role==="not-active")return{title:"This SM is not active",steps:[u(U,{children:a.role_reason}),u(U,{children:["Let it take part again: ",u("code",{children:"ferrosm takeover"}),"."]})]};if(!a.port)return{title:"No port to serve",steps:[u(U,{children:["List the ports of the host: ",u("code",{children:"ferrosm ports --local"}),"."]}),u(U,{children:"Load the driver of the HCA if none is listed; plug in a cable if all are down."}),u(U,{children:["If several have a link, name one in the section ",u("code",{children:"[port]"})," of the configuration."]})]};if(!a.fabric)return{title:"The fabric is not discovered yet",steps:[u(U,{children:["The first sweep takes seconds. It is running if the activity above is not ",u("code",{children:"idle"}),"."]}),u(U,{children:["If it does not end, the log of the service says why: ",u("code",{children:"journalctl -u ferrosm"}),"."]}),u(U,{children:["Check the link of the port: ",u("code",{children:"ferrosm ports --local"}),"."]})]};if(a.fabric.switches===0){let t=a.fabric.links===0;return{title:t?"The fabric is empty":"The fabric has no switch",steps:[t?u(U,{children:["Nothing is connected to ",a.port.name,". Connect the port to a switch."]}):u(U,{children:"Two hosts are connected back to back. That works; a larger fabric needs a switch."}),u(U,{children:["If a cable is plugged in, check that it is firmly seated, and its type: ",u("code",{children:"ferrosm ports --local"}),"."]}),u(U,{children:["To see what this page shows of a larger fabric: ",u("code",{children:"ferrosm demo fat-tree:8 --web"}),"."]})]}}}}var ea={hour12:!1};function ge({at:a}){if(!a)return u("span",{children:"–"});let n=new Date(a),t=n.toDateString()===new Date().toDateString()?n.toLocaleTimeString(void 0,ea):n.toLocaleString(void 0,ea);return u("time",{dateTime:a,title:a,children:t})}function ne({kind:a,children:n}){return u("span",{class:`pill ${a}`,children:n})}function ue({error:a}){return u("div",{class:"failure",role:"alert",children:[u("strong",{children:a.message}),a.remedy&&u("p",{children:a.remedy})]})}function ke(a,n={},e=0){let{answered:t}=re(),[r,i]=j({}),o=`${a} ${JSON.stringify(n)}`;return oe(()=>{let s=!0;return Ee(a,n).then(l=>s&&i({answer:l})).catch(l=>s&&l instanceof ce&&i({error:l})),()=>{s=!1}},[o,t?.revision,e]),r}function un({title:a,onClose:n,children:e}){let t=vt(null);return oe(()=>t.current?.showModal(),[]),u("dialog",{ref:t,"aria-labelledby":"dialog-title",onClose:n,children:[u("h2",{id:"dialog-title",children:a}),e]})}var uu=200;function Te({caption:a,head:n,rows:e,row:t}){let[r,i]=j(uu);return u(U,{children:[u("div",{class:"scroll",tabIndex:0,role:"region","aria-label":a,children:u("table",{children:[u("caption",{class:"visually-hidden",children:a}),u("thead",{children:u("tr",{children:n.map(o=>u("th",{scope:"col",children:o},o))})}),u("tbody",{children:e.slice(0,r).map(t)})]})}),e.length>r&&u("p",{children:[r," of ",e.length," ",u("button",{type:"button",onClick:()=>i(r+1e3),children:"Show more"})]})]})}function ta({event:a}){let n=a.text.search(/ [a-z_]+=/);return n<0?u(U,{children:a.text}):u(U,{children:[a.text.slice(0,n)," ",u("span",{class:"fields",children:a.text.slice(n+1)})]})}function Ro({without:a,name:n,onPrediction:e}){let{answer:t,error:r}=ke("whatif",{without:a});return oe(()=>e(t),[t]),r?u(ue,{error:r}):t?u(U,{children:[u("h3",{children:["Without ",n]}),u(_r,{prediction:t}),u("p",{children:"Nothing has changed: this is a prediction."})]}):u("p",{role:"status",children:["Computing the routes without ",n,"…"]})}function _r({prediction:a}){let{cut_off:n,lose_redundancy:e,before:t,after:r,failure:i,changes:o,violations:s=[],sm_cut_off:l}=a;return u(U,{children:[u("p",{children:n.total===0?u(U,{children:[u(ne,{kind:"ok",children:"safe"})," no host is cut off"]}):u(U,{children:[u(ne,{kind:"error",children:"cuts off"})," ",n.total," ",n.total===1?"host port":"host ports",": ",n.items.slice(0,8).map(d=>d.name).join(", "),n.total>8&&", …"]})}),l&&u("p",{children:[u(ne,{kind:"error",children:"SM"})," the subnet manager itself would be cut off"]}),e.total>0&&u("p",{children:[u(ne,{kind:"warning",children:"redundancy"})," ",e.total," ports would depend on one link"]}),i&&u("p",{children:[u(ne,{kind:"error",children:"no routing"})," ",i]}),u("dl",{class:"facts",children:[r&&u(U,{children:[u("dt",{children:"Busiest link"}),u("dd",{children:[t.busiest_routes," → ",r.busiest_routes," routes"]})]}),r&&u(U,{children:[u("dt",{children:"Longest route"}),u("dd",{children:[t.hops," → ",r.hops," hops"]})]}),r&&u(U,{children:[u("dt",{children:"Engine"}),u("dd",{children:t.engine===r.engine?r.engine:`${t.engine} → ${r.engine}`})]}),u("dt",{children:"Destinations moved"}),u("dd",{children:o.destinations_moved}),u("dt",{children:"LFT blocks written"}),u("dd",{children:o.lft_blocks})]}),s.map(d=>u("p",{children:[u(ne,{kind:"error",children:["invariant ",d.name]})," ",d.text]},d.name))]})}function ko({onLosses:a,onSelect:n}){let{answer:e,error:t}=ke("whatif/single-losses",{limit:2e3,where:"kind!=host-link"});if(oe(()=>a(e?.items),[e]),t)return u(ue,{error:t});if(!e)return u("p",{role:"status",children:"Computing what each loss would cut off…"});let r=e.items.filter(i=>i.cut_off>0);return u(U,{children:[u("h3",{children:"Loss of one switch or link"}),u("p",{children:[r.length===0?`None of ${e.total} would cut off a host.`:`${r.length} of ${e.total} would cut off hosts.`," Links to hosts are not listed."]}),u("div",{class:"scroll",tabIndex:0,role:"region","aria-label":"Single losses",children:u("table",{children:[u("thead",{children:u("tr",{children:[u("th",{scope:"col",children:"Loss"}),u("th",{scope:"col",children:"Cuts off"}),u("th",{scope:"col",children:"Lose redundancy"})]})}),u("tbody",{children:e.items.slice(0,100).map(i=>u("tr",{children:[u("td",{children:u("button",{type:"button",class:"link",onClick:()=>n(i),children:i.name})}),u("td",{children:i.cut_off}),u("td",{children:i.lose_redundancy})]},i.without))})]})})]})}function cn(a){let[n,e]=j(),[t,r]=j(),[i,o]=j(),[s,l]=j(!1),d=async c=>{l(!0),o(void 0);try{return await c()}catch(f){f instanceof ce&&o(f);return}finally{l(!1)}};return{plan:n,done:t,error:i,isBusy:s,preview:async c=>{let f=await d(()=>bt(a,{dry_run:!0},c));return e(f),f},send:async(c,f)=>{let p=await d(()=>bt(a,{reason:f},c));p&&(r(p),Ze())},forget:()=>{e(void 0),o(void 0)}}}function hn({change:a}){let{plan:n,done:e,error:t,isBusy:r}=a;return u(U,{children:[r&&!n&&u("p",{role:"status",children:"Computing what it would do…"}),n&&!e&&u(U,{children:[n.prediction&&u(_r,{prediction:n.prediction}),n.trains_link&&u("p",{children:[u(ne,{kind:"warning",children:"link"})," the link goes down for a moment, to train within other limits"]}),!n.prediction&&!n.trains_link&&u("p",{children:[u(ne,{kind:"ok",children:"safe"})," no link goes down, and no route changes"]}),!n.prediction&&n.violations?.map(({name:i,text:o})=>u("p",{children:[u(ne,{kind:"error",children:["invariant ",i]})," ",o]},i))]}),t&&u(ue,{error:t}),e&&u("p",{role:"status",children:[u(ne,{kind:"ok",children:e.state})," ",e.message]})]})}function fn({verb:a,isBusy:n,onSend:e,onCancel:t,children:r}){let[i,o]=j("");return u("form",{onSubmit:l=>{l.preventDefault(),e(i)},children:[u("label",{children:["Reason, for the audit log ",u("input",{required:!0,maxLength:500,value:i,onInput:l=>o(l.currentTarget.value)})]}),r,u("div",{class:"actions",children:[u("button",{type:"submit",class:"primary",disabled:n,children:a}),u("button",{type:"button",onClick:t,children:"Cancel"})]})]})}var cu=["256","512","1024","2048","4096"],hu=["1","2","4","8","12"],fu=["SDR","DDR","QDR","FDR","EDR","HDR","NDR","XDR"];function na(){let{answer:a}=ke("ports/limits");return a?.items??[]}function aa(a){return Number(a.name.slice(a.name.lastIndexOf("/")+1))}function ra({mtu:a,width:n,speed:e}){return`at most ${[a&&`MTU ${a}`,n&&`width ${n}X`,e&&`speed ${e}`].filter(Boolean).join(", ")}`}function Tr(a,n){let e=new Set(n.flatMap(({a:t,b:r})=>[`${t.guid}/${t.port}`,`${r.guid}/${r.port}`]));return a.filter(t=>e.has(`${t.guid}/${aa(t)}`))}var gu={applied:{text:"applied",kind:"ok"},"not-applied":{text:"not applied",kind:"warning"},"link-down":{text:"link down",kind:"error"}};function Do({limits:a}){let{text:n,kind:e}=gu[a.state];return u(ne,{kind:e,children:n})}function Sr({limits:a,onUnset:n}){let{at:e}=re();return a.length===0?null:u(U,{children:[u("h4",{children:"Limits of ports"}),u("ul",{class:"plain",children:a.map(t=>u("li",{children:[t.name,": ",ra(t)," ",u(Do,{limits:t}),t.reason&&`; ${t.reason}`,!e&&Le()&&u(U,{children:[" ",u("button",{type:"button",onClick:()=>n(t.name),children:"Unset…"})]})]},t.name))})]})}function Lo(){let{at:a}=re(),n=na(),[e,t]=j();return u(U,{children:[u("h2",{children:"Limits of ports"}),n.length===0?u("p",{children:["No port has limits. Select a link in the ",u("a",{href:"#/fabric",children:"fabric"})," to set them."]}):u(Te,{caption:"Limits of ports",head:["Port","Limits","State","Now","Reason",""],rows:n,row:r=>u("tr",{children:[u("td",{children:u("a",{href:`#/fabric?show=${encodeURIComponent(`${r.guid}/${aa(r)}`)}`,children:r.name})}),u("td",{children:ra(r)}),u("td",{children:u(Do,{limits:r})}),u("td",{children:r.now??"–"}),u("td",{children:r.reason}),u("td",{children:!a&&Le()&&u("button",{type:"button",onClick:()=>t(r.name),children:"Unset…"})})]},r.name)}),e!==void 0&&u(Er,{kind:"unlimit",target:e,onClose:()=>t(void 0)})]})}function Er({kind:a,target:n,model:e,onClose:t}){return a==="limit"?u(vu,{target:n,leadsToHost:pu(e,n),onClose:t}):u(mu,{target:n,onClose:t})}function pu(a,n){let{link:e}=a?.find(n)??{};if(!a||e===void 0)return!1;let{a:t,b:r}=a.links[e];return[t,r].some(({guid:i})=>a.nodes.get(i)?.kind!=="switch")}function mu({target:a,onClose:n}){let e=cn("ports/unset");oe(()=>{e.preview({target:a})},[]);let{plan:t,done:r,error:i,isBusy:o}=e;return u(un,{title:`Unset the limits of ${a}`,onClose:n,children:[u(hn,{change:e}),t&&!r&&u(fn,{verb:"Unset",isBusy:o,onSend:s=>{e.send({target:a},s)},onCancel:n}),(r||i&&!t)&&u("div",{class:"actions",children:u("button",{type:"button",onClick:n,children:"Close"})})]})}function vu({target:a,leadsToHost:n,onClose:e}){let t=cn("ports/set"),[r,i]=j({mtu:"",rate:"",width:"",speed:"",accepts:!1}),o=y=>{i({...r,...y}),t.forget()},s=y=>y?Number(y):void 0,l={target:a,mtu:s(r.mtu),rate_gbps:s(r.rate),width:s(r.width),speed:r.speed||void 0,accept_cut_off:r.accepts||void 0},{plan:d,done:c,isBusy:f}=t,p=y=>{y.preventDefault(),t.preview(l)},h=r.rate!=="",v=r.width!==""||r.speed!=="";return u(un,{title:`Limit the link at ${a}`,onClose:e,children:[!c&&u("form",{onSubmit:p,children:[u(xr,{label:"Largest MTU",values:cu,value:r.mtu,onChoose:y=>o({mtu:y})}),u("label",{children:["Highest rate in Gb/s ",u("input",{type:"number",min:"1",step:"1",disabled:v,value:r.rate,onInput:y=>o({rate:y.currentTarget.value})})]}),u(xr,{label:"Most lanes",values:hu,value:r.width,disabled:h,onChoose:y=>o({width:y})}),u(xr,{label:"Highest speed of a lane",values:fu,value:r.speed,disabled:h,onChoose:y=>o({speed:y})}),n&&u("label",{class:"check",children:[u("input",{type:"checkbox",checked:r.accepts,onChange:y=>o({accepts:y.currentTarget.checked})})," The link of the host may go down for a moment"]}),u("div",{class:"actions",children:[u("button",{type:"submit",class:d?void 0:"primary",disabled:f||!(r.mtu||h||v),children:"Preview"}),!d&&u("button",{type:"button",onClick:e,children:"Cancel"})]})]}),u(hn,{change:t}),d&&!c&&u(fn,{verb:"Set",isBusy:f,onSend:y=>{t.send(l,y)},onCancel:e}),c&&u("div",{class:"actions",children:u("button",{type:"button",onClick:e,children:"Close"})})]})}function xr({label:a,values:n,value:e,disabled:t,onChoose:r}){return u("label",{children:[a,u("select",{disabled:t,value:e,onChange:i=>r(i.currentTarget.value),children:[u("option",{value:"",children:"no limit"}),n.map(i=>u("option",{children:i},i))]})]})}function Co({model:a,item:n,actions:e}){return n.kind==="block"?u(U,{children:[u("h3",{children:n.label}),u("p",{children:[n.nodes.length," switches, ",n.hosts," hosts"]}),u("p",{children:u("button",{type:"button",onClick:()=>e.toggle(n.key),children:"Show its switches"})}),u("ul",{class:"plain short",children:n.nodes.slice(0,60).map(t=>u("li",{children:u("button",{type:"button",class:"link",onClick:()=>e.show({node:t}),children:a.name(t)})},t))}),n.nodes.length>60&&u("p",{children:["and ",n.nodes.length-60," more"]})]}):u(bu,{model:a,guid:n.nodes[0],hosts:n.hosts,actions:e})}function bu({model:a,guid:n,hosts:e,actions:t}){let{alarms:r,health:i,at:o}=re(),s=na(),l=a.nodes.get(n);if(!l)return u("p",{children:"This node is no longer there."});let d=r.filter(g=>g.object.guid===n),c=i?.maintenance?.find(g=>g.guid===n&&g.kind==="drained-switch"),f=(a.linksOf.get(n)??[]).map(g=>({index:g,link:a.links[g]})),p=({a:g,b:m})=>g.guid===n?g.port:m.port,h=Tr(s,f.map(({link:g})=>g)),v=[...h,...s.filter(g=>g.guid===n&&!h.includes(g))],y=a.places.get(n),b=l.kind==="switch";return u(U,{children:[u("h3",{children:l.name||l.guid}),u("p",{children:[u(ne,{kind:l.state==="present"?"ok":"error",children:l.state}),c&&u(U,{children:[" ",u(ne,{kind:"maintenance",children:"drained"})]}),l.since&&u(U,{children:[" since ",u(ge,{at:l.since})]})]}),u("dl",{class:"facts",children:[u("dt",{children:"Kind"}),u("dd",{children:l.kind==="ca"?"host (channel adapter)":l.kind}),u("dt",{children:"GUID"}),u("dd",{children:u("code",{children:l.guid})}),u("dt",{children:l.lids.length===1?"LID":"LIDs"}),u("dd",{children:l.lids.join(", ")||"none"}),!b&&u(U,{children:[u("dt",{children:"At"}),u("dd",{children:l.location})]}),u("dt",{children:"Ports"}),u("dd",{children:[l.ports_linked," of ",l.ports," linked"]}),y?.level!==void 0&&u(U,{children:[u("dt",{children:"Level"}),u("dd",{children:y.level===0?"0 (leaf)":y.level})]}),y?.group!==void 0&&u(U,{children:[u("dt",{children:"Group"}),u("dd",{children:y.group})]}),y?.coordinates&&u(U,{children:[u("dt",{children:"Coordinates"}),u("dd",{children:y.coordinates.join(", ")})]})]}),d.map(g=>u("p",{class:"alarm",children:[u(ne,{kind:g.severity,children:["alarm ",g.id]})," ",g.text]},g.id)),c?.reason&&u("p",{children:["Drained: ",c.reason]}),u("div",{class:"actions",children:[(a.hostsOf.get(n)?.length??0)>0&&u("button",{type:"button",onClick:()=>t.toggle(n),children:e>0?"Show its hosts":"Hide its hosts"}),u("button",{type:"button",onClick:()=>t.pathFrom(l.name||l.guid),children:"Path from here"}),u("button",{type:"button",onClick:()=>t.pathTo(l.name||l.guid),children:"Path to here"}),!o&&l.state==="present"&&u("button",{type:"button",onClick:()=>t.whatIf(l.guid),children:"What if it is lost?"}),!o&&b&&!c&&Le()&&l.state==="present"&&u("button",{type:"button",onClick:()=>t.maintain("drain",l.name||l.guid),children:"Drain…"})]}),u("h4",{children:"Links"}),u("div",{class:"scroll",tabIndex:0,role:"region","aria-label":`Links of ${l.name}`,children:u("table",{children:[u("thead",{children:u("tr",{children:[u("th",{scope:"col",children:"Port"}),u("th",{scope:"col",children:"To"}),u("th",{scope:"col",children:"State"}),u("th",{scope:"col",children:"Rate"})]})}),u("tbody",{children:f.sort((g,m)=>p(g.link)-p(m.link)).map(({index:g,link:m})=>u("tr",{children:[u("td",{children:p(m)}),u("td",{children:u("button",{type:"button",class:"link",onClick:()=>t.show({link:g}),children:a.name(a.otherEnd(g,n))})}),u("td",{children:u(gn,{link:m})}),u("td",{children:m.rate||"–"})]},g))})]})}),u(Sr,{limits:v,onUnset:g=>t.limit("unlimit",g)}),u(yu,{node:l,limits:s})]})}function wr({title:a,ask:n,children:e}){let[t,r]=j(),[i,o]=j(),s=()=>{o(void 0),n().then(r).catch(l=>l instanceof ce&&o(l))};return u("details",{onToggle:l=>l.currentTarget.open&&s(),children:[u("summary",{children:a}),i&&u(ue,{error:i}),t!==void 0&&e(t)]})}function yu({node:a,limits:n}){let{at:e}=re(),{guid:t}=a,r=i=>n.find(o=>o.guid===t&&aa(o)===i);return u("div",{children:[a.kind==="switch"&&u(wr,{title:"Ports, as read",ask:()=>Ee("ports",{at:e,limit:1e3,where:`guid=${t}`}),children:({items:i})=>u("table",{children:[u("thead",{children:u("tr",{children:[u("th",{scope:"col",children:"Port"}),u("th",{scope:"col",children:"State"}),u("th",{scope:"col",children:"Physical"}),u("th",{scope:"col",children:"MTU"}),u("th",{scope:"col",children:"Limits"})]})}),u("tbody",{children:i.map(o=>{let s=r(o.port);return u("tr",{children:[u("td",{children:o.port}),u("td",{children:o.state}),u("td",{children:o.physical_state}),u("td",{children:o.mtu}),u("td",{children:s?ra(s):"–"})]},o.port)})})]})}),a.kind!=="switch"&&a.state==="present"&&!e&&u(wr,{title:"Partitions and groups",ask:()=>Ee(`hosts/${t}`),children:({ports:i})=>u("ul",{class:"plain",children:i.map(({place:o,partitions:s,groups:l})=>u("li",{children:["Port ",o.number,": ",s.join(", ")||"no partition","; ",l.length===0?"no group":l.join(", ")]},o.port.guid))})}),u(wr,{title:"Changes",ask:()=>Ee("changes",{node:t,limit:50}),children:({items:i})=>u(U,{children:[i.length===0&&u("p",{children:"None known."}),u("ul",{class:"plain",children:[...i].reverse().map(o=>u("li",{children:[u(ge,{at:o.at})," ",o.what,o.cause&&`, because of: ${o.cause}`,o.effect&&`; ${o.effect}`]},o.number))})]})})]},t)}function gn({link:a}){if(a.maintenance)return u(ne,{kind:"maintenance",children:a.maintenance==="disabled-port"?"disabled":"drained"});let n=a.state==="up"?"ok":a.state==="down"?"error":"warning";return u(ne,{kind:n,children:a.state})}function Ar({model:a,view:n,bundle:e,routes:t,actions:r}){if(e.links.length>1){let i=o=>n.items.get(o)?.label??o;return u(U,{children:[u("h3",{children:[i(e.a)," – ",i(e.b)]}),u("p",{children:[e.links.length," links"]}),u("ul",{class:"plain short",children:e.links.slice(0,100).map(o=>u("li",{children:[u(gn,{link:a.links[o]})," ",u("button",{type:"button",class:"link",onClick:()=>r.show({link:o}),children:Me(a.links[o])})]},o))})]})}return u(_u,{model:a,index:e.links[0],routes:t?.[e.links[0]],actions:r})}function _u({model:a,index:n,routes:e,actions:t}){let{at:r}=re(),i=na(),o=a.links[n];if(!o)return u("p",{children:"This link is no longer there."});let s=po(a,o),l=o.state!=="down",d=[o.a,o.b].some(({guid:c})=>a.nodes.get(c)?.kind==="switch");return u(U,{children:[u("h3",{children:Me(o)}),u("p",{children:[u(gn,{link:o}),o.since&&u(U,{children:[" since ",u(ge,{at:o.since})]})]}),u("dl",{class:"facts",children:[u("dt",{children:"Rate"}),u("dd",{children:o.rate?`${o.rate}, ${o.mbps/1e3} Gb/s`:"–"}),o.possible_rate&&o.possible_rate!==o.rate&&u(U,{children:[u("dt",{children:"Possible"}),u("dd",{children:o.possible_rate})]}),u("dt",{children:"Went down"}),u("dd",{children:[o.times_down," times since this SM is master"]}),e!==void 0&&u(U,{children:[u("dt",{children:"Routes"}),u("dd",{children:[e," in the direction with more"]})]}),o.note&&u(U,{children:[u("dt",{children:"Note"}),u("dd",{children:o.note})]})]}),u("div",{class:"actions",children:[u("button",{type:"button",onClick:()=>t.show({node:o.a.guid}),children:o.a.name||o.a.guid}),u("button",{type:"button",onClick:()=>t.show({node:o.b.guid}),children:o.b.name||o.b.guid}),!r&&l&&u("button",{type:"button",onClick:()=>t.whatIf(s),children:"What if it is lost?"}),!r&&l&&Le()&&!o.maintenance&&u(U,{children:[u("button",{type:"button",onClick:()=>t.maintain("drain",s),children:"Drain…"}),u("button",{type:"button",onClick:()=>t.maintain("disable",s),children:"Disable port…"}),d&&u("button",{type:"button",onClick:()=>t.limit("limit",s),children:"Limit…"})]})]}),u(Sr,{limits:Tr(i,[o]),onUnset:c=>t.limit("unlimit",c)})]})}function Po({from:a,to:n,onPath:e}){let{at:t}=re(),{answer:r,error:i}=ke("paths",{from:a,to:n,at:t});return xu(r,e),i?u(ue,{error:i}):r?u(U,{children:[u("h3",{children:[r.from.name," → ",r.to.name]}),r.dropped&&u("p",{class:"alarm",children:[u(ne,{kind:"error",children:"dropped"})," ",r.dropped]}),u("dl",{class:"facts",children:[u("dt",{children:"LID, SL"}),u("dd",{children:[r.lid,", ",r.sl]}),u("dt",{children:"MTU"}),u("dd",{children:r.mtu}),u("dt",{children:"Narrowest"}),u("dd",{children:[r.narrowest_mbps/1e3," Gb/s"]}),u("dt",{children:"P_Keys"}),u("dd",{children:r.p_keys.join(", ")||"none"})]}),u("table",{children:[u("thead",{children:u("tr",{children:[u("th",{scope:"col",children:"Switch"}),u("th",{scope:"col",children:"In"}),u("th",{scope:"col",children:"Out"}),u("th",{scope:"col",children:"VL"})]})}),u("tbody",{children:r.hops.map(o=>u("tr",{children:[u("td",{children:o.name}),u("td",{children:o.in_port}),u("td",{children:o.out_port}),u("td",{children:o.vl??"–"})]},o.guid))})]})]}):u("p",{role:"status",children:"Asking for the path…"})}function xu(a,n){oe(()=>n(a),[a])}var Xo=gt(Ct(),1);function ku(){let a=arguments[0];for(let n=1,e=arguments.length;n<e;n++)if(arguments[n])for(let t in arguments[n])a[t]=arguments[n][t];return a}var be=ku;typeof Object.assign=="function"&&(be=Object.assign);function Ge(a,n,e,t){let r=a._nodes.get(n),i=null;return r&&(t==="mixed"?i=r.out&&r.out[e]||r.undirected&&r.undirected[e]:t==="directed"?i=r.out&&r.out[e]:i=r.undirected&&r.undirected[e]),i}function Se(a){return typeof a=="object"&&a!==null}function jo(a){let n;for(n in a)return!1;return!0}function Ne(a,n,e){Object.defineProperty(a,n,{enumerable:!1,configurable:!1,writable:!0,value:e})}function Ue(a,n,e){let t={enumerable:!0,configurable:!0};typeof e=="function"?t.get=e:(t.value=e,t.writable=!1),Object.defineProperty(a,n,t)}function Ho(a){return!(!Se(a)||a.attributes&&!Array.isArray(a.attributes))}function Du(){let a=Math.floor(Math.random()*256)&255;return()=>a++}function Qe(){let a=arguments,n=null,e=-1;return{[Symbol.iterator](){return this},next(){let t=null;do{if(n===null){if(e++,e>=a.length)return{done:!0};n=a[e][Symbol.iterator]()}if(t=n.next(),t.done){n=null;continue}break}while(!0);return t}}}function Ft(){return{[Symbol.iterator](){return this},next(){return{done:!0}}}}var vn=class extends Error{constructor(n){super(),this.name="GraphError",this.message=n}},$=class a extends vn{constructor(n){super(n),this.name="InvalidArgumentsGraphError",typeof Error.captureStackTrace=="function"&&Error.captureStackTrace(this,a.prototype.constructor)}},B=class a extends vn{constructor(n){super(n),this.name="NotFoundGraphError",typeof Error.captureStackTrace=="function"&&Error.captureStackTrace(this,a.prototype.constructor)}},Y=class a extends vn{constructor(n){super(n),this.name="UsageGraphError",typeof Error.captureStackTrace=="function"&&Error.captureStackTrace(this,a.prototype.constructor)}};function qo(a,n){this.key=a,this.attributes=n,this.clear()}qo.prototype.clear=function(){this.inDegree=0,this.outDegree=0,this.undirectedDegree=0,this.undirectedLoops=0,this.directedLoops=0,this.in={},this.out={},this.undirected={}};function Ko(a,n){this.key=a,this.attributes=n,this.clear()}Ko.prototype.clear=function(){this.inDegree=0,this.outDegree=0,this.directedLoops=0,this.in={},this.out={}};function Yo(a,n){this.key=a,this.attributes=n,this.clear()}Yo.prototype.clear=function(){this.undirectedDegree=0,this.undirectedLoops=0,this.undirected={}};function It(a,n,e,t,r){this.key=n,this.attributes=r,this.undirected=a,this.source=e,this.target=t}It.prototype.attach=function(){let a="out",n="in";this.undirected&&(a=n="undirected");let e=this.source.key,t=this.target.key;this.source[a][t]=this,!(this.undirected&&e===t)&&(this.target[n][e]=this)};It.prototype.attachMulti=function(){let a="out",n="in",e=this.source.key,t=this.target.key;this.undirected&&(a=n="undirected");let r=this.source[a],i=r[t];if(typeof i>"u"){r[t]=this,this.undirected&&e===t||(this.target[n][e]=this);return}i.previous=this,this.next=i,r[t]=this,this.target[n][e]=this};It.prototype.detach=function(){let a=this.source.key,n=this.target.key,e="out",t="in";this.undirected&&(e=t="undirected"),delete this.source[e][n],delete this.target[t][a]};It.prototype.detachMulti=function(){let a=this.source.key,n=this.target.key,e="out",t="in";this.undirected&&(e=t="undirected"),this.previous===void 0?this.next===void 0?(delete this.source[e][n],delete this.target[t][a]):(this.next.previous=void 0,this.source[e][n]=this.next,this.target[t][a]=this.next):(this.previous.next=this.next,this.next!==void 0&&(this.next.previous=this.previous))};var Zo=0,Qo=1,Lu=2,Jo=3;function Je(a,n,e,t,r,i,o){let s,l,d,c;if(t=""+t,e===Zo){if(s=a._nodes.get(t),!s)throw new B(`Graph.${n}: could not find the "${t}" node in the graph.`);d=r,c=i}else if(e===Jo){if(r=""+r,l=a._edges.get(r),!l)throw new B(`Graph.${n}: could not find the "${r}" edge in the graph.`);let f=l.source.key,p=l.target.key;if(t===f)s=l.target;else if(t===p)s=l.source;else throw new B(`Graph.${n}: the "${t}" node is not attached to the "${r}" edge (${f}, ${p}).`);d=i,c=o}else{if(l=a._edges.get(t),!l)throw new B(`Graph.${n}: could not find the "${t}" edge in the graph.`);e===Qo?s=l.source:s=l.target,d=r,c=i}return[s,d,c]}function Cu(a,n,e){a.prototype[n]=function(t,r,i){let[o,s]=Je(this,n,e,t,r,i);return o.attributes[s]}}function Pu(a,n,e){a.prototype[n]=function(t,r){let[i]=Je(this,n,e,t,r);return i.attributes}}function Fu(a,n,e){a.prototype[n]=function(t,r,i){let[o,s]=Je(this,n,e,t,r,i);return o.attributes.hasOwnProperty(s)}}function Iu(a,n,e){a.prototype[n]=function(t,r,i,o){let[s,l,d]=Je(this,n,e,t,r,i,o);return s.attributes[l]=d,this.emit("nodeAttributesUpdated",{key:s.key,type:"set",attributes:s.attributes,name:l}),this}}function Mu(a,n,e){a.prototype[n]=function(t,r,i,o){let[s,l,d]=Je(this,n,e,t,r,i,o);if(typeof d!="function")throw new $(`Graph.${n}: updater should be a function.`);let c=s.attributes,f=d(c[l]);return c[l]=f,this.emit("nodeAttributesUpdated",{key:s.key,type:"set",attributes:s.attributes,name:l}),this}}function Nu(a,n,e){a.prototype[n]=function(t,r,i){let[o,s]=Je(this,n,e,t,r,i);return delete o.attributes[s],this.emit("nodeAttributesUpdated",{key:o.key,type:"remove",attributes:o.attributes,name:s}),this}}function Gu(a,n,e){a.prototype[n]=function(t,r,i){let[o,s]=Je(this,n,e,t,r,i);if(!Se(s))throw new $(`Graph.${n}: provided attributes are not a plain object.`);return o.attributes=s,this.emit("nodeAttributesUpdated",{key:o.key,type:"replace",attributes:o.attributes}),this}}function zu(a,n,e){a.prototype[n]=function(t,r,i){let[o,s]=Je(this,n,e,t,r,i);if(!Se(s))throw new $(`Graph.${n}: provided attributes are not a plain object.`);return be(o.attributes,s),this.emit("nodeAttributesUpdated",{key:o.key,type:"merge",attributes:o.attributes,data:s}),this}}function Ou(a,n,e){a.prototype[n]=function(t,r,i){let[o,s]=Je(this,n,e,t,r,i);if(typeof s!="function")throw new $(`Graph.${n}: provided updater is not a function.`);return o.attributes=s(o.attributes),this.emit("nodeAttributesUpdated",{key:o.key,type:"update",attributes:o.attributes}),this}}var Wu=[{name:a=>`get${a}Attribute`,attacher:Cu},{name:a=>`get${a}Attributes`,attacher:Pu},{name:a=>`has${a}Attribute`,attacher:Fu},{name:a=>`set${a}Attribute`,attacher:Iu},{name:a=>`update${a}Attribute`,attacher:Mu},{name:a=>`remove${a}Attribute`,attacher:Nu},{name:a=>`replace${a}Attributes`,attacher:Gu},{name:a=>`merge${a}Attributes`,attacher:zu},{name:a=>`update${a}Attributes`,attacher:Ou}];function Bu(a){Wu.forEach(function({name:n,attacher:e}){e(a,n("Node"),Zo),e(a,n("Source"),Qo),e(a,n("Target"),Lu),e(a,n("Opposite"),Jo)})}function Uu(a,n,e){a.prototype[n]=function(t,r){let i;if(this.type!=="mixed"&&e!=="mixed"&&e!==this.type)throw new Y(`Graph.${n}: cannot find this type of edges in your ${this.type} graph.`);if(arguments.length>2){if(this.multi)throw new Y(`Graph.${n}: cannot use a {source,target} combo when asking about an edge's attributes in a MultiGraph since we cannot infer the one you want information about.`);let o=""+t,s=""+r;if(r=arguments[2],i=Ge(this,o,s,e),!i)throw new B(`Graph.${n}: could not find an edge for the given path ("${o}" - "${s}").`)}else{if(e!=="mixed")throw new Y(`Graph.${n}: calling this method with only a key (vs. a source and target) does not make sense since an edge with this key could have the other type.`);if(t=""+t,i=this._edges.get(t),!i)throw new B(`Graph.${n}: could not find the "${t}" edge in the graph.`)}return i.attributes[r]}}function Hu(a,n,e){a.prototype[n]=function(t){let r;if(this.type!=="mixed"&&e!=="mixed"&&e!==this.type)throw new Y(`Graph.${n}: cannot find this type of edges in your ${this.type} graph.`);if(arguments.length>1){if(this.multi)throw new Y(`Graph.${n}: cannot use a {source,target} combo when asking about an edge's attributes in a MultiGraph since we cannot infer the one you want information about.`);let i=""+t,o=""+arguments[1];if(r=Ge(this,i,o,e),!r)throw new B(`Graph.${n}: could not find an edge for the given path ("${i}" - "${o}").`)}else{if(e!=="mixed")throw new Y(`Graph.${n}: calling this method with only a key (vs. a source and target) does not make sense since an edge with this key could have the other type.`);if(t=""+t,r=this._edges.get(t),!r)throw new B(`Graph.${n}: could not find the "${t}" edge in the graph.`)}return r.attributes}}function $u(a,n,e){a.prototype[n]=function(t,r){let i;if(this.type!=="mixed"&&e!=="mixed"&&e!==this.type)throw new Y(`Graph.${n}: cannot find this type of edges in your ${this.type} graph.`);if(arguments.length>2){if(this.multi)throw new Y(`Graph.${n}: cannot use a {source,target} combo when asking about an edge's attributes in a MultiGraph since we cannot infer the one you want information about.`);let o=""+t,s=""+r;if(r=arguments[2],i=Ge(this,o,s,e),!i)throw new B(`Graph.${n}: could not find an edge for the given path ("${o}" - "${s}").`)}else{if(e!=="mixed")throw new Y(`Graph.${n}: calling this method with only a key (vs. a source and target) does not make sense since an edge with this key could have the other type.`);if(t=""+t,i=this._edges.get(t),!i)throw new B(`Graph.${n}: could not find the "${t}" edge in the graph.`)}return i.attributes.hasOwnProperty(r)}}function Vu(a,n,e){a.prototype[n]=function(t,r,i){let o;if(this.type!=="mixed"&&e!=="mixed"&&e!==this.type)throw new Y(`Graph.${n}: cannot find this type of edges in your ${this.type} graph.`);if(arguments.length>3){if(this.multi)throw new Y(`Graph.${n}: cannot use a {source,target} combo when asking about an edge's attributes in a MultiGraph since we cannot infer the one you want information about.`);let s=""+t,l=""+r;if(r=arguments[2],i=arguments[3],o=Ge(this,s,l,e),!o)throw new B(`Graph.${n}: could not find an edge for the given path ("${s}" - "${l}").`)}else{if(e!=="mixed")throw new Y(`Graph.${n}: calling this method with only a key (vs. a source and target) does not make sense since an edge with this key could have the other type.`);if(t=""+t,o=this._edges.get(t),!o)throw new B(`Graph.${n}: could not find the "${t}" edge in the graph.`)}return o.attributes[r]=i,this.emit("edgeAttributesUpdated",{key:o.key,type:"set",attributes:o.attributes,name:r}),this}}function Xu(a,n,e){a.prototype[n]=function(t,r,i){let o;if(this.type!=="mixed"&&e!=="mixed"&&e!==this.type)throw new Y(`Graph.${n}: cannot find this type of edges in your ${this.type} graph.`);if(arguments.length>3){if(this.multi)throw new Y(`Graph.${n}: cannot use a {source,target} combo when asking about an edge's attributes in a MultiGraph since we cannot infer the one you want information about.`);let s=""+t,l=""+r;if(r=arguments[2],i=arguments[3],o=Ge(this,s,l,e),!o)throw new B(`Graph.${n}: could not find an edge for the given path ("${s}" - "${l}").`)}else{if(e!=="mixed")throw new Y(`Graph.${n}: calling this method with only a key (vs. a source and target) does not make sense since an edge with this key could have the other type.`);if(t=""+t,o=this._edges.get(t),!o)throw new B(`Graph.${n}: could not find the "${t}" edge in the graph.`)}if(typeof i!="function")throw new $(`Graph.${n}: updater should be a function.`);return o.attributes[r]=i(o.attributes[r]),this.emit("edgeAttributesUpdated",{key:o.key,type:"set",attributes:o.attributes,name:r}),this}}function ju(a,n,e){a.prototype[n]=function(t,r){let i;if(this.type!=="mixed"&&e!=="mixed"&&e!==this.type)throw new Y(`Graph.${n}: cannot find this type of edges in your ${this.type} graph.`);if(arguments.length>2){if(this.multi)throw new Y(`Graph.${n}: cannot use a {source,target} combo when asking about an edge's attributes in a MultiGraph since we cannot infer the one you want information about.`);let o=""+t,s=""+r;if(r=arguments[2],i=Ge(this,o,s,e),!i)throw new B(`Graph.${n}: could not find an edge for the given path ("${o}" - "${s}").`)}else{if(e!=="mixed")throw new Y(`Graph.${n}: calling this method with only a key (vs. a source and target) does not make sense since an edge with this key could have the other type.`);if(t=""+t,i=this._edges.get(t),!i)throw new B(`Graph.${n}: could not find the "${t}" edge in the graph.`)}return delete i.attributes[r],this.emit("edgeAttributesUpdated",{key:i.key,type:"remove",attributes:i.attributes,name:r}),this}}function qu(a,n,e){a.prototype[n]=function(t,r){let i;if(this.type!=="mixed"&&e!=="mixed"&&e!==this.type)throw new Y(`Graph.${n}: cannot find this type of edges in your ${this.type} graph.`);if(arguments.length>2){if(this.multi)throw new Y(`Graph.${n}: cannot use a {source,target} combo when asking about an edge's attributes in a MultiGraph since we cannot infer the one you want information about.`);let o=""+t,s=""+r;if(r=arguments[2],i=Ge(this,o,s,e),!i)throw new B(`Graph.${n}: could not find an edge for the given path ("${o}" - "${s}").`)}else{if(e!=="mixed")throw new Y(`Graph.${n}: calling this method with only a key (vs. a source and target) does not make sense since an edge with this key could have the other type.`);if(t=""+t,i=this._edges.get(t),!i)throw new B(`Graph.${n}: could not find the "${t}" edge in the graph.`)}if(!Se(r))throw new $(`Graph.${n}: provided attributes are not a plain object.`);return i.attributes=r,this.emit("edgeAttributesUpdated",{key:i.key,type:"replace",attributes:i.attributes}),this}}function Ku(a,n,e){a.prototype[n]=function(t,r){let i;if(this.type!=="mixed"&&e!=="mixed"&&e!==this.type)throw new Y(`Graph.${n}: cannot find this type of edges in your ${this.type} graph.`);if(arguments.length>2){if(this.multi)throw new Y(`Graph.${n}: cannot use a {source,target} combo when asking about an edge's attributes in a MultiGraph since we cannot infer the one you want information about.`);let o=""+t,s=""+r;if(r=arguments[2],i=Ge(this,o,s,e),!i)throw new B(`Graph.${n}: could not find an edge for the given path ("${o}" - "${s}").`)}else{if(e!=="mixed")throw new Y(`Graph.${n}: calling this method with only a key (vs. a source and target) does not make sense since an edge with this key could have the other type.`);if(t=""+t,i=this._edges.get(t),!i)throw new B(`Graph.${n}: could not find the "${t}" edge in the graph.`)}if(!Se(r))throw new $(`Graph.${n}: provided attributes are not a plain object.`);return be(i.attributes,r),this.emit("edgeAttributesUpdated",{key:i.key,type:"merge",attributes:i.attributes,data:r}),this}}function Yu(a,n,e){a.prototype[n]=function(t,r){let i;if(this.type!=="mixed"&&e!=="mixed"&&e!==this.type)throw new Y(`Graph.${n}: cannot find this type of edges in your ${this.type} graph.`);if(arguments.length>2){if(this.multi)throw new Y(`Graph.${n}: cannot use a {source,target} combo when asking about an edge's attributes in a MultiGraph since we cannot infer the one you want information about.`);let o=""+t,s=""+r;if(r=arguments[2],i=Ge(this,o,s,e),!i)throw new B(`Graph.${n}: could not find an edge for the given path ("${o}" - "${s}").`)}else{if(e!=="mixed")throw new Y(`Graph.${n}: calling this method with only a key (vs. a source and target) does not make sense since an edge with this key could have the other type.`);if(t=""+t,i=this._edges.get(t),!i)throw new B(`Graph.${n}: could not find the "${t}" edge in the graph.`)}if(typeof r!="function")throw new $(`Graph.${n}: provided updater is not a function.`);return i.attributes=r(i.attributes),this.emit("edgeAttributesUpdated",{key:i.key,type:"update",attributes:i.attributes}),this}}var Zu=[{name:a=>`get${a}Attribute`,attacher:Uu},{name:a=>`get${a}Attributes`,attacher:Hu},{name:a=>`has${a}Attribute`,attacher:$u},{name:a=>`set${a}Attribute`,attacher:Vu},{name:a=>`update${a}Attribute`,attacher:Xu},{name:a=>`remove${a}Attribute`,attacher:ju},{name:a=>`replace${a}Attributes`,attacher:qu},{name:a=>`merge${a}Attributes`,attacher:Ku},{name:a=>`update${a}Attributes`,attacher:Yu}];function Qu(a){Zu.forEach(function({name:n,attacher:e}){e(a,n("Edge"),"mixed"),e(a,n("DirectedEdge"),"directed"),e(a,n("UndirectedEdge"),"undirected")})}var Ju=[{name:"edges",type:"mixed"},{name:"inEdges",type:"directed",direction:"in"},{name:"outEdges",type:"directed",direction:"out"},{name:"inboundEdges",type:"mixed",direction:"in"},{name:"outboundEdges",type:"mixed",direction:"out"},{name:"directedEdges",type:"directed"},{name:"undirectedEdges",type:"undirected"}];function ec(a,n,e,t){let r=!1;for(let i in n){if(i===t)continue;let o=n[i];if(r=e(o.key,o.attributes,o.source.key,o.target.key,o.source.attributes,o.target.attributes,o.undirected),a&&r)return o.key}}function tc(a,n,e,t){let r,i,o,s=!1;for(let l in n)if(l!==t){r=n[l];do{if(i=r.source,o=r.target,s=e(r.key,r.attributes,i.key,o.key,i.attributes,o.attributes,r.undirected),a&&s)return r.key;r=r.next}while(r!==void 0)}}function kr(a,n){let e=Object.keys(a),t=e.length,r,i=0;return{[Symbol.iterator](){return this},next(){do if(r)r=r.next;else{if(i>=t)return{done:!0};let o=e[i++];if(o===n){r=void 0;continue}r=a[o]}while(!r);return{done:!1,value:{edge:r.key,attributes:r.attributes,source:r.source.key,target:r.target.key,sourceAttributes:r.source.attributes,targetAttributes:r.target.attributes,undirected:r.undirected}}}}}function nc(a,n,e,t){let r=n[e];if(!r)return;let i=r.source,o=r.target;if(t(r.key,r.attributes,i.key,o.key,i.attributes,o.attributes,r.undirected)&&a)return r.key}function ac(a,n,e,t){let r=n[e];if(!r)return;let i=!1;do{if(i=t(r.key,r.attributes,r.source.key,r.target.key,r.source.attributes,r.target.attributes,r.undirected),a&&i)return r.key;r=r.next}while(r!==void 0)}function Dr(a,n){let e=a[n];if(e.next!==void 0)return{[Symbol.iterator](){return this},next(){if(!e)return{done:!0};let r={edge:e.key,attributes:e.attributes,source:e.source.key,target:e.target.key,sourceAttributes:e.source.attributes,targetAttributes:e.target.attributes,undirected:e.undirected};return e=e.next,{done:!1,value:r}}};let t=!1;return{[Symbol.iterator](){return this},next(){return t===!0?{done:!0}:(t=!0,{done:!1,value:{edge:e.key,attributes:e.attributes,source:e.source.key,target:e.target.key,sourceAttributes:e.source.attributes,targetAttributes:e.target.attributes,undirected:e.undirected}})}}}function rc(a,n){if(a.size===0)return[];if(n==="mixed"||n===a.type)return Array.from(a._edges.keys());let e=n==="undirected"?a.undirectedSize:a.directedSize,t=new Array(e),r=n==="undirected",i=a._edges.values(),o=0,s,l;for(;s=i.next(),s.done!==!0;)l=s.value,l.undirected===r&&(t[o++]=l.key);return t}function es(a,n,e,t){if(n.size===0)return;let r=e!=="mixed"&&e!==n.type,i=e==="undirected",o,s,l=!1,d=n._edges.values();for(;o=d.next(),o.done!==!0;){if(s=o.value,r&&s.undirected!==i)continue;let{key:c,attributes:f,source:p,target:h}=s;if(l=t(c,f,p.key,h.key,p.attributes,h.attributes,s.undirected),a&&l)return c}}function ic(a,n){if(a.size===0)return Ft();let e=n!=="mixed"&&n!==a.type,t=n==="undirected",r=a._edges.values();return{[Symbol.iterator](){return this},next(){let i,o;for(;;){if(i=r.next(),i.done)return i;if(o=i.value,!(e&&o.undirected!==t))break}return{value:{edge:o.key,attributes:o.attributes,source:o.source.key,target:o.target.key,sourceAttributes:o.source.attributes,targetAttributes:o.target.attributes,undirected:o.undirected},done:!1}}}}function Lr(a,n,e,t,r,i){let o=n?tc:ec,s;if(e!=="undirected"&&(t!=="out"&&(s=o(a,r.in,i),a&&s)||t!=="in"&&(s=o(a,r.out,i,t?void 0:r.key),a&&s))||e!=="directed"&&(s=o(a,r.undirected,i),a&&s))return s}function oc(a,n,e,t){let r=[];return Lr(!1,a,n,e,t,function(i){r.push(i)}),r}function sc(a,n,e){let t=Ft();return a!=="undirected"&&(n!=="out"&&typeof e.in<"u"&&(t=Qe(t,kr(e.in))),n!=="in"&&typeof e.out<"u"&&(t=Qe(t,kr(e.out,n?void 0:e.key)))),a!=="directed"&&typeof e.undirected<"u"&&(t=Qe(t,kr(e.undirected))),t}function Cr(a,n,e,t,r,i,o){let s=e?ac:nc,l;if(n!=="undirected"&&(typeof r.in<"u"&&t!=="out"&&(l=s(a,r.in,i,o),a&&l)||typeof r.out<"u"&&t!=="in"&&(t||r.key!==i)&&(l=s(a,r.out,i,o),a&&l))||n!=="directed"&&typeof r.undirected<"u"&&(l=s(a,r.undirected,i,o),a&&l))return l}function lc(a,n,e,t,r){let i=[];return Cr(!1,a,n,e,t,r,function(o){i.push(o)}),i}function dc(a,n,e,t){let r=Ft();return a!=="undirected"&&(typeof e.in<"u"&&n!=="out"&&t in e.in&&(r=Qe(r,Dr(e.in,t))),typeof e.out<"u"&&n!=="in"&&t in e.out&&(n||e.key!==t)&&(r=Qe(r,Dr(e.out,t)))),a!=="directed"&&typeof e.undirected<"u"&&t in e.undirected&&(r=Qe(r,Dr(e.undirected,t))),r}function uc(a,n){let{name:e,type:t,direction:r}=n;a.prototype[e]=function(i,o){if(t!=="mixed"&&this.type!=="mixed"&&t!==this.type)return[];if(!arguments.length)return rc(this,t);if(arguments.length===1){i=""+i;let s=this._nodes.get(i);if(typeof s>"u")throw new B(`Graph.${e}: could not find the "${i}" node in the graph.`);return oc(this.multi,t==="mixed"?this.type:t,r,s)}if(arguments.length===2){i=""+i,o=""+o;let s=this._nodes.get(i);if(!s)throw new B(`Graph.${e}:  could not find the "${i}" source node in the graph.`);if(!this._nodes.has(o))throw new B(`Graph.${e}:  could not find the "${o}" target node in the graph.`);return lc(t,this.multi,r,s,o)}throw new $(`Graph.${e}: too many arguments (expecting 0, 1 or 2 and got ${arguments.length}).`)}}function cc(a,n){let{name:e,type:t,direction:r}=n,i="forEach"+e[0].toUpperCase()+e.slice(1,-1);a.prototype[i]=function(d,c,f){if(!(t!=="mixed"&&this.type!=="mixed"&&t!==this.type)){if(arguments.length===1)return f=d,es(!1,this,t,f);if(arguments.length===2){d=""+d,f=c;let p=this._nodes.get(d);if(typeof p>"u")throw new B(`Graph.${i}: could not find the "${d}" node in the graph.`);return Lr(!1,this.multi,t==="mixed"?this.type:t,r,p,f)}if(arguments.length===3){d=""+d,c=""+c;let p=this._nodes.get(d);if(!p)throw new B(`Graph.${i}:  could not find the "${d}" source node in the graph.`);if(!this._nodes.has(c))throw new B(`Graph.${i}:  could not find the "${c}" target node in the graph.`);return Cr(!1,t,this.multi,r,p,c,f)}throw new $(`Graph.${i}: too many arguments (expecting 1, 2 or 3 and got ${arguments.length}).`)}};let o="map"+e[0].toUpperCase()+e.slice(1);a.prototype[o]=function(){let d=Array.prototype.slice.call(arguments),c=d.pop(),f;if(d.length===0){let p=0;t!=="directed"&&(p+=this.undirectedSize),t!=="undirected"&&(p+=this.directedSize),f=new Array(p);let h=0;d.push((v,y,b,g,m,_,x)=>{f[h++]=c(v,y,b,g,m,_,x)})}else f=[],d.push((p,h,v,y,b,g,m)=>{f.push(c(p,h,v,y,b,g,m))});return this[i].apply(this,d),f};let s="filter"+e[0].toUpperCase()+e.slice(1);a.prototype[s]=function(){let d=Array.prototype.slice.call(arguments),c=d.pop(),f=[];return d.push((p,h,v,y,b,g,m)=>{c(p,h,v,y,b,g,m)&&f.push(p)}),this[i].apply(this,d),f};let l="reduce"+e[0].toUpperCase()+e.slice(1);a.prototype[l]=function(){let d=Array.prototype.slice.call(arguments);if(d.length<2||d.length>4)throw new $(`Graph.${l}: invalid number of arguments (expecting 2, 3 or 4 and got ${d.length}).`);if(typeof d[d.length-1]=="function"&&typeof d[d.length-2]!="function")throw new $(`Graph.${l}: missing initial value. You must provide it because the callback takes more than one argument and we cannot infer the initial value from the first iteration, as you could with a simple array.`);let c,f;d.length===2?(c=d[0],f=d[1],d=[]):d.length===3?(c=d[1],f=d[2],d=[d[0]]):d.length===4&&(c=d[2],f=d[3],d=[d[0],d[1]]);let p=f;return d.push((h,v,y,b,g,m,_)=>{p=c(p,h,v,y,b,g,m,_)}),this[i].apply(this,d),p}}function hc(a,n){let{name:e,type:t,direction:r}=n,i="find"+e[0].toUpperCase()+e.slice(1,-1);a.prototype[i]=function(l,d,c){if(t!=="mixed"&&this.type!=="mixed"&&t!==this.type)return!1;if(arguments.length===1)return c=l,es(!0,this,t,c);if(arguments.length===2){l=""+l,c=d;let f=this._nodes.get(l);if(typeof f>"u")throw new B(`Graph.${i}: could not find the "${l}" node in the graph.`);return Lr(!0,this.multi,t==="mixed"?this.type:t,r,f,c)}if(arguments.length===3){l=""+l,d=""+d;let f=this._nodes.get(l);if(!f)throw new B(`Graph.${i}:  could not find the "${l}" source node in the graph.`);if(!this._nodes.has(d))throw new B(`Graph.${i}:  could not find the "${d}" target node in the graph.`);return Cr(!0,t,this.multi,r,f,d,c)}throw new $(`Graph.${i}: too many arguments (expecting 1, 2 or 3 and got ${arguments.length}).`)};let o="some"+e[0].toUpperCase()+e.slice(1,-1);a.prototype[o]=function(){let l=Array.prototype.slice.call(arguments),d=l.pop();return l.push((f,p,h,v,y,b,g)=>d(f,p,h,v,y,b,g)),!!this[i].apply(this,l)};let s="every"+e[0].toUpperCase()+e.slice(1,-1);a.prototype[s]=function(){let l=Array.prototype.slice.call(arguments),d=l.pop();return l.push((f,p,h,v,y,b,g)=>!d(f,p,h,v,y,b,g)),!this[i].apply(this,l)}}function fc(a,n){let{name:e,type:t,direction:r}=n,i=e.slice(0,-1)+"Entries";a.prototype[i]=function(o,s){if(t!=="mixed"&&this.type!=="mixed"&&t!==this.type)return Ft();if(!arguments.length)return ic(this,t);if(arguments.length===1){o=""+o;let l=this._nodes.get(o);if(!l)throw new B(`Graph.${i}: could not find the "${o}" node in the graph.`);return sc(t,r,l)}if(arguments.length===2){o=""+o,s=""+s;let l=this._nodes.get(o);if(!l)throw new B(`Graph.${i}:  could not find the "${o}" source node in the graph.`);if(!this._nodes.has(s))throw new B(`Graph.${i}:  could not find the "${s}" target node in the graph.`);return dc(t,r,l,s)}throw new $(`Graph.${i}: too many arguments (expecting 0, 1 or 2 and got ${arguments.length}).`)}}function gc(a){Ju.forEach(n=>{uc(a,n),cc(a,n),hc(a,n),fc(a,n)})}var pc=[{name:"neighbors",type:"mixed"},{name:"inNeighbors",type:"directed",direction:"in"},{name:"outNeighbors",type:"directed",direction:"out"},{name:"inboundNeighbors",type:"mixed",direction:"in"},{name:"outboundNeighbors",type:"mixed",direction:"out"},{name:"directedNeighbors",type:"directed"},{name:"undirectedNeighbors",type:"undirected"}];function fa(){this.A=null,this.B=null}fa.prototype.wrap=function(a){this.A===null?this.A=a:this.B===null&&(this.B=a)};fa.prototype.has=function(a){return this.A!==null&&a in this.A||this.B!==null&&a in this.B};function pn(a,n,e,t,r){for(let i in t){let o=t[i],s=o.source,l=o.target,d=s===e?l:s;if(n&&n.has(d.key))continue;let c=r(d.key,d.attributes);if(a&&c)return d.key}}function Pr(a,n,e,t,r){if(n!=="mixed"){if(n==="undirected")return pn(a,null,t,t.undirected,r);if(typeof e=="string")return pn(a,null,t,t[e],r)}let i=new fa,o;if(n!=="undirected"){if(e!=="out"){if(o=pn(a,null,t,t.in,r),a&&o)return o;i.wrap(t.in)}if(e!=="in"){if(o=pn(a,i,t,t.out,r),a&&o)return o;i.wrap(t.out)}}if(n!=="directed"&&(o=pn(a,i,t,t.undirected,r),a&&o))return o}function mc(a,n,e){if(a!=="mixed"){if(a==="undirected")return Object.keys(e.undirected);if(typeof n=="string")return Object.keys(e[n])}let t=[];return Pr(!1,a,n,e,function(r){t.push(r)}),t}function mn(a,n,e){let t=Object.keys(e),r=t.length,i=0;return{[Symbol.iterator](){return this},next(){let o=null;do{if(i>=r)return a&&a.wrap(e),{done:!0};let s=e[t[i++]],l=s.source,d=s.target;if(o=l===n?d:l,a&&a.has(o.key)){o=null;continue}}while(o===null);return{done:!1,value:{neighbor:o.key,attributes:o.attributes}}}}}function vc(a,n,e){if(a!=="mixed"){if(a==="undirected")return mn(null,e,e.undirected);if(typeof n=="string")return mn(null,e,e[n])}let t=Ft(),r=new fa;return a!=="undirected"&&(n!=="out"&&(t=Qe(t,mn(r,e,e.in))),n!=="in"&&(t=Qe(t,mn(r,e,e.out)))),a!=="directed"&&(t=Qe(t,mn(r,e,e.undirected))),t}function bc(a,n){let{name:e,type:t,direction:r}=n;a.prototype[e]=function(i){if(t!=="mixed"&&this.type!=="mixed"&&t!==this.type)return[];i=""+i;let o=this._nodes.get(i);if(typeof o>"u")throw new B(`Graph.${e}: could not find the "${i}" node in the graph.`);return mc(t==="mixed"?this.type:t,r,o)}}function yc(a,n){let{name:e,type:t,direction:r}=n,i="forEach"+e[0].toUpperCase()+e.slice(1,-1);a.prototype[i]=function(d,c){if(t!=="mixed"&&this.type!=="mixed"&&t!==this.type)return;d=""+d;let f=this._nodes.get(d);if(typeof f>"u")throw new B(`Graph.${i}: could not find the "${d}" node in the graph.`);Pr(!1,t==="mixed"?this.type:t,r,f,c)};let o="map"+e[0].toUpperCase()+e.slice(1);a.prototype[o]=function(d,c){let f=[];return this[i](d,(p,h)=>{f.push(c(p,h))}),f};let s="filter"+e[0].toUpperCase()+e.slice(1);a.prototype[s]=function(d,c){let f=[];return this[i](d,(p,h)=>{c(p,h)&&f.push(p)}),f};let l="reduce"+e[0].toUpperCase()+e.slice(1);a.prototype[l]=function(d,c,f){if(arguments.length<3)throw new $(`Graph.${l}: missing initial value. You must provide it because the callback takes more than one argument and we cannot infer the initial value from the first iteration, as you could with a simple array.`);let p=f;return this[i](d,(h,v)=>{p=c(p,h,v)}),p}}function _c(a,n){let{name:e,type:t,direction:r}=n,i=e[0].toUpperCase()+e.slice(1,-1),o="find"+i;a.prototype[o]=function(d,c){if(t!=="mixed"&&this.type!=="mixed"&&t!==this.type)return;d=""+d;let f=this._nodes.get(d);if(typeof f>"u")throw new B(`Graph.${o}: could not find the "${d}" node in the graph.`);return Pr(!0,t==="mixed"?this.type:t,r,f,c)};let s="some"+i;a.prototype[s]=function(d,c){return!!this[o](d,c)};let l="every"+i;a.prototype[l]=function(d,c){return!this[o](d,(p,h)=>!c(p,h))}}function xc(a,n){let{name:e,type:t,direction:r}=n,i=e.slice(0,-1)+"Entries";a.prototype[i]=function(o){if(t!=="mixed"&&this.type!=="mixed"&&t!==this.type)return Ft();o=""+o;let s=this._nodes.get(o);if(typeof s>"u")throw new B(`Graph.${i}: could not find the "${o}" node in the graph.`);return vc(t==="mixed"?this.type:t,r,s)}}function Tc(a){pc.forEach(n=>{bc(a,n),yc(a,n),_c(a,n),xc(a,n)})}function sa(a,n,e,t,r){let i=t._nodes.values(),o=t.type,s,l,d,c,f,p,h;for(;s=i.next(),s.done!==!0;){let v=!1;if(l=s.value,o!=="undirected"){c=l.out;for(d in c){f=c[d];do{if(p=f.target,v=!0,h=r(l.key,p.key,l.attributes,p.attributes,f.key,f.attributes,f.undirected),a&&h)return f;f=f.next}while(f)}}if(o!=="directed"){c=l.undirected;for(d in c)if(!(n&&l.key>d)){f=c[d];do{if(p=f.target,p.key!==d&&(p=f.source),v=!0,h=r(l.key,p.key,l.attributes,p.attributes,f.key,f.attributes,f.undirected),a&&h)return f;f=f.next}while(f)}}if(e&&!v&&(h=r(l.key,null,l.attributes,null,null,null,null),a&&h))return null}}function Sc(a,n){let e={key:a};return jo(n.attributes)||(e.attributes=be({},n.attributes)),e}function Ec(a,n,e){let t={key:n,source:e.source.key,target:e.target.key};return jo(e.attributes)||(t.attributes=be({},e.attributes)),a==="mixed"&&e.undirected&&(t.undirected=!0),t}function wc(a){if(!Se(a))throw new $('Graph.import: invalid serialized node. A serialized node should be a plain object with at least a "key" property.');if(!("key"in a))throw new $("Graph.import: serialized node is missing its key.");if("attributes"in a&&(!Se(a.attributes)||a.attributes===null))throw new $("Graph.import: invalid attributes. Attributes should be a plain object, null or omitted.")}function Ac(a){if(!Se(a))throw new $('Graph.import: invalid serialized edge. A serialized edge should be a plain object with at least a "source" & "target" property.');if(!("source"in a))throw new $("Graph.import: serialized edge is missing its source.");if(!("target"in a))throw new $("Graph.import: serialized edge is missing its target.");if("attributes"in a&&(!Se(a.attributes)||a.attributes===null))throw new $("Graph.import: invalid attributes. Attributes should be a plain object, null or omitted.");if("undirected"in a&&typeof a.undirected!="boolean")throw new $("Graph.import: invalid undirectedness information. Undirected should be boolean or omitted.")}var Rc=Du(),kc=new Set(["directed","undirected","mixed"]),$o=new Set(["domain","_events","_eventsCount","_maxListeners"]),Dc=[{name:a=>`${a}Edge`,generateKey:!0},{name:a=>`${a}DirectedEdge`,generateKey:!0,type:"directed"},{name:a=>`${a}UndirectedEdge`,generateKey:!0,type:"undirected"},{name:a=>`${a}EdgeWithKey`},{name:a=>`${a}DirectedEdgeWithKey`,type:"directed"},{name:a=>`${a}UndirectedEdgeWithKey`,type:"undirected"}],Lc={allowSelfLoops:!0,multi:!1,type:"mixed"};function Cc(a,n,e){if(e&&!Se(e))throw new $(`Graph.addNode: invalid attributes. Expecting an object but got "${e}"`);if(n=""+n,e=e||{},a._nodes.has(n))throw new Y(`Graph.addNode: the "${n}" node already exist in the graph.`);let t=new a.NodeDataClass(n,e);return a._nodes.set(n,t),a.emit("nodeAdded",{key:n,attributes:e}),t}function Vo(a,n,e){let t=new a.NodeDataClass(n,e);return a._nodes.set(n,t),a.emit("nodeAdded",{key:n,attributes:e}),t}function ts(a,n,e,t,r,i,o,s){if(!t&&a.type==="undirected")throw new Y(`Graph.${n}: you cannot add a directed edge to an undirected graph. Use the #.addEdge or #.addUndirectedEdge instead.`);if(t&&a.type==="directed")throw new Y(`Graph.${n}: you cannot add an undirected edge to a directed graph. Use the #.addEdge or #.addDirectedEdge instead.`);if(s&&!Se(s))throw new $(`Graph.${n}: invalid attributes. Expecting an object but got "${s}"`);if(i=""+i,o=""+o,s=s||{},!a.allowSelfLoops&&i===o)throw new Y(`Graph.${n}: source & target are the same ("${i}"), thus creating a loop explicitly forbidden by this graph 'allowSelfLoops' option set to false.`);let l=a._nodes.get(i),d=a._nodes.get(o);if(!l)throw new B(`Graph.${n}: source node "${i}" not found.`);if(!d)throw new B(`Graph.${n}: target node "${o}" not found.`);let c={key:null,undirected:t,source:i,target:o,attributes:s};if(e)r=a._edgeKeyGenerator();else if(r=""+r,a._edges.has(r))throw new Y(`Graph.${n}: the "${r}" edge already exists in the graph.`);if(!a.multi&&(t?typeof l.undirected[o]<"u":typeof l.out[o]<"u"))throw new Y(`Graph.${n}: an edge linking "${i}" to "${o}" already exists. If you really want to add multiple edges linking those nodes, you should create a multi graph by using the 'multi' option.`);let f=new It(t,r,l,d,s);a._edges.set(r,f);let p=i===o;return t?(l.undirectedDegree++,d.undirectedDegree++,p&&(l.undirectedLoops++,a._undirectedSelfLoopCount++)):(l.outDegree++,d.inDegree++,p&&(l.directedLoops++,a._directedSelfLoopCount++)),a.multi?f.attachMulti():f.attach(),t?a._undirectedSize++:a._directedSize++,c.key=r,a.emit("edgeAdded",c),r}function Pc(a,n,e,t,r,i,o,s,l){if(!t&&a.type==="undirected")throw new Y(`Graph.${n}: you cannot merge/update a directed edge to an undirected graph. Use the #.mergeEdge/#.updateEdge or #.addUndirectedEdge instead.`);if(t&&a.type==="directed")throw new Y(`Graph.${n}: you cannot merge/update an undirected edge to a directed graph. Use the #.mergeEdge/#.updateEdge or #.addDirectedEdge instead.`);if(s){if(l){if(typeof s!="function")throw new $(`Graph.${n}: invalid updater function. Expecting a function but got "${s}"`)}else if(!Se(s))throw new $(`Graph.${n}: invalid attributes. Expecting an object but got "${s}"`)}i=""+i,o=""+o;let d;if(l&&(d=s,s=void 0),!a.allowSelfLoops&&i===o)throw new Y(`Graph.${n}: source & target are the same ("${i}"), thus creating a loop explicitly forbidden by this graph 'allowSelfLoops' option set to false.`);let c=a._nodes.get(i),f=a._nodes.get(o),p,h;if(!e&&(p=a._edges.get(r),p)){if((p.source.key!==i||p.target.key!==o)&&(!t||p.source.key!==o||p.target.key!==i))throw new Y(`Graph.${n}: inconsistency detected when attempting to merge the "${r}" edge with "${i}" source & "${o}" target vs. ("${p.source.key}", "${p.target.key}").`);h=p}if(!h&&!a.multi&&c&&(h=t?c.undirected[o]:c.out[o]),h){let m=[h.key,!1,!1,!1];if(l?!d:!s)return m;if(l){let _=h.attributes;h.attributes=d(_),a.emit("edgeAttributesUpdated",{type:"replace",key:h.key,attributes:h.attributes})}else be(h.attributes,s),a.emit("edgeAttributesUpdated",{type:"merge",key:h.key,attributes:h.attributes,data:s});return m}s=s||{},l&&d&&(s=d(s));let v={key:null,undirected:t,source:i,target:o,attributes:s};if(e)r=a._edgeKeyGenerator();else if(r=""+r,a._edges.has(r))throw new Y(`Graph.${n}: the "${r}" edge already exists in the graph.`);let y=!1,b=!1;c||(c=Vo(a,i,{}),y=!0,i===o&&(f=c,b=!0)),f||(f=Vo(a,o,{}),b=!0),p=new It(t,r,c,f,s),a._edges.set(r,p);let g=i===o;return t?(c.undirectedDegree++,f.undirectedDegree++,g&&(c.undirectedLoops++,a._undirectedSelfLoopCount++)):(c.outDegree++,f.inDegree++,g&&(c.directedLoops++,a._directedSelfLoopCount++)),a.multi?p.attachMulti():p.attach(),t?a._undirectedSize++:a._directedSize++,v.key=r,a.emit("edgeAdded",v),[r,!0,y,b]}function Pt(a,n){a._edges.delete(n.key);let{source:e,target:t,attributes:r}=n,i=n.undirected,o=e===t;i?(e.undirectedDegree--,t.undirectedDegree--,o&&(e.undirectedLoops--,a._undirectedSelfLoopCount--)):(e.outDegree--,t.inDegree--,o&&(e.directedLoops--,a._directedSelfLoopCount--)),a.multi?n.detachMulti():n.detach(),i?a._undirectedSize--:a._directedSize--,a.emit("edgeDropped",{key:n.key,attributes:r,source:e.key,target:t.key,undirected:i})}var le=class a extends Xo.EventEmitter{constructor(n){if(super(),n=be({},Lc,n),typeof n.multi!="boolean")throw new $(`Graph.constructor: invalid 'multi' option. Expecting a boolean but got "${n.multi}".`);if(!kc.has(n.type))throw new $(`Graph.constructor: invalid 'type' option. Should be one of "mixed", "directed" or "undirected" but got "${n.type}".`);if(typeof n.allowSelfLoops!="boolean")throw new $(`Graph.constructor: invalid 'allowSelfLoops' option. Expecting a boolean but got "${n.allowSelfLoops}".`);let e=n.type==="mixed"?qo:n.type==="directed"?Ko:Yo;Ne(this,"NodeDataClass",e);let t="geid_"+Rc()+"_",r=0,i=()=>{let o;do o=t+r++;while(this._edges.has(o));return o};Ne(this,"_attributes",{}),Ne(this,"_nodes",new Map),Ne(this,"_edges",new Map),Ne(this,"_directedSize",0),Ne(this,"_undirectedSize",0),Ne(this,"_directedSelfLoopCount",0),Ne(this,"_undirectedSelfLoopCount",0),Ne(this,"_edgeKeyGenerator",i),Ne(this,"_options",n),$o.forEach(o=>Ne(this,o,this[o])),Ue(this,"order",()=>this._nodes.size),Ue(this,"size",()=>this._edges.size),Ue(this,"directedSize",()=>this._directedSize),Ue(this,"undirectedSize",()=>this._undirectedSize),Ue(this,"selfLoopCount",()=>this._directedSelfLoopCount+this._undirectedSelfLoopCount),Ue(this,"directedSelfLoopCount",()=>this._directedSelfLoopCount),Ue(this,"undirectedSelfLoopCount",()=>this._undirectedSelfLoopCount),Ue(this,"multi",this._options.multi),Ue(this,"type",this._options.type),Ue(this,"allowSelfLoops",this._options.allowSelfLoops),Ue(this,"implementation",()=>"graphology")}_resetInstanceCounters(){this._directedSize=0,this._undirectedSize=0,this._directedSelfLoopCount=0,this._undirectedSelfLoopCount=0}hasNode(n){return this._nodes.has(""+n)}hasDirectedEdge(n,e){if(this.type==="undirected")return!1;if(arguments.length===1){let t=""+n,r=this._edges.get(t);return!!r&&!r.undirected}else if(arguments.length===2){n=""+n,e=""+e;let t=this._nodes.get(n);return t?t.out.hasOwnProperty(e):!1}throw new $(`Graph.hasDirectedEdge: invalid arity (${arguments.length}, instead of 1 or 2). You can either ask for an edge id or for the existence of an edge between a source & a target.`)}hasUndirectedEdge(n,e){if(this.type==="directed")return!1;if(arguments.length===1){let t=""+n,r=this._edges.get(t);return!!r&&r.undirected}else if(arguments.length===2){n=""+n,e=""+e;let t=this._nodes.get(n);return t?t.undirected.hasOwnProperty(e):!1}throw new $(`Graph.hasDirectedEdge: invalid arity (${arguments.length}, instead of 1 or 2). You can either ask for an edge id or for the existence of an edge between a source & a target.`)}hasEdge(n,e){if(arguments.length===1){let t=""+n;return this._edges.has(t)}else if(arguments.length===2){n=""+n,e=""+e;let t=this._nodes.get(n);return t?typeof t.out<"u"&&t.out.hasOwnProperty(e)||typeof t.undirected<"u"&&t.undirected.hasOwnProperty(e):!1}throw new $(`Graph.hasEdge: invalid arity (${arguments.length}, instead of 1 or 2). You can either ask for an edge id or for the existence of an edge between a source & a target.`)}directedEdge(n,e){if(this.type==="undirected")return;if(n=""+n,e=""+e,this.multi)throw new Y("Graph.directedEdge: this method is irrelevant with multigraphs since there might be multiple edges between source & target. See #.directedEdges instead.");let t=this._nodes.get(n);if(!t)throw new B(`Graph.directedEdge: could not find the "${n}" source node in the graph.`);if(!this._nodes.has(e))throw new B(`Graph.directedEdge: could not find the "${e}" target node in the graph.`);let r=t.out&&t.out[e]||void 0;if(r)return r.key}undirectedEdge(n,e){if(this.type==="directed")return;if(n=""+n,e=""+e,this.multi)throw new Y("Graph.undirectedEdge: this method is irrelevant with multigraphs since there might be multiple edges between source & target. See #.undirectedEdges instead.");let t=this._nodes.get(n);if(!t)throw new B(`Graph.undirectedEdge: could not find the "${n}" source node in the graph.`);if(!this._nodes.has(e))throw new B(`Graph.undirectedEdge: could not find the "${e}" target node in the graph.`);let r=t.undirected&&t.undirected[e]||void 0;if(r)return r.key}edge(n,e){if(this.multi)throw new Y("Graph.edge: this method is irrelevant with multigraphs since there might be multiple edges between source & target. See #.edges instead.");n=""+n,e=""+e;let t=this._nodes.get(n);if(!t)throw new B(`Graph.edge: could not find the "${n}" source node in the graph.`);if(!this._nodes.has(e))throw new B(`Graph.edge: could not find the "${e}" target node in the graph.`);let r=t.out&&t.out[e]||t.undirected&&t.undirected[e]||void 0;if(r)return r.key}areDirectedNeighbors(n,e){n=""+n,e=""+e;let t=this._nodes.get(n);if(!t)throw new B(`Graph.areDirectedNeighbors: could not find the "${n}" node in the graph.`);return this.type==="undirected"?!1:e in t.in||e in t.out}areOutNeighbors(n,e){n=""+n,e=""+e;let t=this._nodes.get(n);if(!t)throw new B(`Graph.areOutNeighbors: could not find the "${n}" node in the graph.`);return this.type==="undirected"?!1:e in t.out}areInNeighbors(n,e){n=""+n,e=""+e;let t=this._nodes.get(n);if(!t)throw new B(`Graph.areInNeighbors: could not find the "${n}" node in the graph.`);return this.type==="undirected"?!1:e in t.in}areUndirectedNeighbors(n,e){n=""+n,e=""+e;let t=this._nodes.get(n);if(!t)throw new B(`Graph.areUndirectedNeighbors: could not find the "${n}" node in the graph.`);return this.type==="directed"?!1:e in t.undirected}areNeighbors(n,e){n=""+n,e=""+e;let t=this._nodes.get(n);if(!t)throw new B(`Graph.areNeighbors: could not find the "${n}" node in the graph.`);return this.type!=="undirected"&&(e in t.in||e in t.out)||this.type!=="directed"&&e in t.undirected}areInboundNeighbors(n,e){n=""+n,e=""+e;let t=this._nodes.get(n);if(!t)throw new B(`Graph.areInboundNeighbors: could not find the "${n}" node in the graph.`);return this.type!=="undirected"&&e in t.in||this.type!=="directed"&&e in t.undirected}areOutboundNeighbors(n,e){n=""+n,e=""+e;let t=this._nodes.get(n);if(!t)throw new B(`Graph.areOutboundNeighbors: could not find the "${n}" node in the graph.`);return this.type!=="undirected"&&e in t.out||this.type!=="directed"&&e in t.undirected}inDegree(n){n=""+n;let e=this._nodes.get(n);if(!e)throw new B(`Graph.inDegree: could not find the "${n}" node in the graph.`);return this.type==="undirected"?0:e.inDegree}outDegree(n){n=""+n;let e=this._nodes.get(n);if(!e)throw new B(`Graph.outDegree: could not find the "${n}" node in the graph.`);return this.type==="undirected"?0:e.outDegree}directedDegree(n){n=""+n;let e=this._nodes.get(n);if(!e)throw new B(`Graph.directedDegree: could not find the "${n}" node in the graph.`);return this.type==="undirected"?0:e.inDegree+e.outDegree}undirectedDegree(n){n=""+n;let e=this._nodes.get(n);if(!e)throw new B(`Graph.undirectedDegree: could not find the "${n}" node in the graph.`);return this.type==="directed"?0:e.undirectedDegree}inboundDegree(n){n=""+n;let e=this._nodes.get(n);if(!e)throw new B(`Graph.inboundDegree: could not find the "${n}" node in the graph.`);let t=0;return this.type!=="directed"&&(t+=e.undirectedDegree),this.type!=="undirected"&&(t+=e.inDegree),t}outboundDegree(n){n=""+n;let e=this._nodes.get(n);if(!e)throw new B(`Graph.outboundDegree: could not find the "${n}" node in the graph.`);let t=0;return this.type!=="directed"&&(t+=e.undirectedDegree),this.type!=="undirected"&&(t+=e.outDegree),t}degree(n){n=""+n;let e=this._nodes.get(n);if(!e)throw new B(`Graph.degree: could not find the "${n}" node in the graph.`);let t=0;return this.type!=="directed"&&(t+=e.undirectedDegree),this.type!=="undirected"&&(t+=e.inDegree+e.outDegree),t}inDegreeWithoutSelfLoops(n){n=""+n;let e=this._nodes.get(n);if(!e)throw new B(`Graph.inDegreeWithoutSelfLoops: could not find the "${n}" node in the graph.`);return this.type==="undirected"?0:e.inDegree-e.directedLoops}outDegreeWithoutSelfLoops(n){n=""+n;let e=this._nodes.get(n);if(!e)throw new B(`Graph.outDegreeWithoutSelfLoops: could not find the "${n}" node in the graph.`);return this.type==="undirected"?0:e.outDegree-e.directedLoops}directedDegreeWithoutSelfLoops(n){n=""+n;let e=this._nodes.get(n);if(!e)throw new B(`Graph.directedDegreeWithoutSelfLoops: could not find the "${n}" node in the graph.`);return this.type==="undirected"?0:e.inDegree+e.outDegree-e.directedLoops*2}undirectedDegreeWithoutSelfLoops(n){n=""+n;let e=this._nodes.get(n);if(!e)throw new B(`Graph.undirectedDegreeWithoutSelfLoops: could not find the "${n}" node in the graph.`);return this.type==="directed"?0:e.undirectedDegree-e.undirectedLoops*2}inboundDegreeWithoutSelfLoops(n){n=""+n;let e=this._nodes.get(n);if(!e)throw new B(`Graph.inboundDegreeWithoutSelfLoops: could not find the "${n}" node in the graph.`);let t=0,r=0;return this.type!=="directed"&&(t+=e.undirectedDegree,r+=e.undirectedLoops*2),this.type!=="undirected"&&(t+=e.inDegree,r+=e.directedLoops),t-r}outboundDegreeWithoutSelfLoops(n){n=""+n;let e=this._nodes.get(n);if(!e)throw new B(`Graph.outboundDegreeWithoutSelfLoops: could not find the "${n}" node in the graph.`);let t=0,r=0;return this.type!=="directed"&&(t+=e.undirectedDegree,r+=e.undirectedLoops*2),this.type!=="undirected"&&(t+=e.outDegree,r+=e.directedLoops),t-r}degreeWithoutSelfLoops(n){n=""+n;let e=this._nodes.get(n);if(!e)throw new B(`Graph.degreeWithoutSelfLoops: could not find the "${n}" node in the graph.`);let t=0,r=0;return this.type!=="directed"&&(t+=e.undirectedDegree,r+=e.undirectedLoops*2),this.type!=="undirected"&&(t+=e.inDegree+e.outDegree,r+=e.directedLoops*2),t-r}source(n){n=""+n;let e=this._edges.get(n);if(!e)throw new B(`Graph.source: could not find the "${n}" edge in the graph.`);return e.source.key}target(n){n=""+n;let e=this._edges.get(n);if(!e)throw new B(`Graph.target: could not find the "${n}" edge in the graph.`);return e.target.key}extremities(n){n=""+n;let e=this._edges.get(n);if(!e)throw new B(`Graph.extremities: could not find the "${n}" edge in the graph.`);return[e.source.key,e.target.key]}opposite(n,e){n=""+n,e=""+e;let t=this._edges.get(e);if(!t)throw new B(`Graph.opposite: could not find the "${e}" edge in the graph.`);let r=t.source.key,i=t.target.key;if(n===r)return i;if(n===i)return r;throw new B(`Graph.opposite: the "${n}" node is not attached to the "${e}" edge (${r}, ${i}).`)}hasExtremity(n,e){n=""+n,e=""+e;let t=this._edges.get(n);if(!t)throw new B(`Graph.hasExtremity: could not find the "${n}" edge in the graph.`);return t.source.key===e||t.target.key===e}isUndirected(n){n=""+n;let e=this._edges.get(n);if(!e)throw new B(`Graph.isUndirected: could not find the "${n}" edge in the graph.`);return e.undirected}isDirected(n){n=""+n;let e=this._edges.get(n);if(!e)throw new B(`Graph.isDirected: could not find the "${n}" edge in the graph.`);return!e.undirected}isSelfLoop(n){n=""+n;let e=this._edges.get(n);if(!e)throw new B(`Graph.isSelfLoop: could not find the "${n}" edge in the graph.`);return e.source===e.target}addNode(n,e){return Cc(this,n,e).key}mergeNode(n,e){if(e&&!Se(e))throw new $(`Graph.mergeNode: invalid attributes. Expecting an object but got "${e}"`);n=""+n,e=e||{};let t=this._nodes.get(n);return t?(e&&(be(t.attributes,e),this.emit("nodeAttributesUpdated",{type:"merge",key:n,attributes:t.attributes,data:e})),[n,!1]):(t=new this.NodeDataClass(n,e),this._nodes.set(n,t),this.emit("nodeAdded",{key:n,attributes:e}),[n,!0])}updateNode(n,e){if(e&&typeof e!="function")throw new $(`Graph.updateNode: invalid updater function. Expecting a function but got "${e}"`);n=""+n;let t=this._nodes.get(n);if(t){if(e){let i=t.attributes;t.attributes=e(i),this.emit("nodeAttributesUpdated",{type:"replace",key:n,attributes:t.attributes})}return[n,!1]}let r=e?e({}):{};return t=new this.NodeDataClass(n,r),this._nodes.set(n,t),this.emit("nodeAdded",{key:n,attributes:r}),[n,!0]}dropNode(n){n=""+n;let e=this._nodes.get(n);if(!e)throw new B(`Graph.dropNode: could not find the "${n}" node in the graph.`);let t;if(this.type!=="undirected"){for(let r in e.out){t=e.out[r];do Pt(this,t),t=t.next;while(t)}for(let r in e.in){t=e.in[r];do Pt(this,t),t=t.next;while(t)}}if(this.type!=="directed")for(let r in e.undirected){t=e.undirected[r];do Pt(this,t),t=t.next;while(t)}this._nodes.delete(n),this.emit("nodeDropped",{key:n,attributes:e.attributes})}dropEdge(n){let e;if(arguments.length>1){let t=""+arguments[0],r=""+arguments[1];if(e=Ge(this,t,r,this.type),!e)throw new B(`Graph.dropEdge: could not find the "${t}" -> "${r}" edge in the graph.`)}else if(n=""+n,e=this._edges.get(n),!e)throw new B(`Graph.dropEdge: could not find the "${n}" edge in the graph.`);return Pt(this,e),this}dropDirectedEdge(n,e){if(arguments.length<2)throw new Y("Graph.dropDirectedEdge: it does not make sense to try and drop a directed edge by key. What if the edge with this key is undirected? Use #.dropEdge for this purpose instead.");if(this.multi)throw new Y("Graph.dropDirectedEdge: cannot use a {source,target} combo when dropping an edge in a MultiGraph since we cannot infer the one you want to delete as there could be multiple ones.");n=""+n,e=""+e;let t=Ge(this,n,e,"directed");if(!t)throw new B(`Graph.dropDirectedEdge: could not find a "${n}" -> "${e}" edge in the graph.`);return Pt(this,t),this}dropUndirectedEdge(n,e){if(arguments.length<2)throw new Y("Graph.dropUndirectedEdge: it does not make sense to drop a directed edge by key. What if the edge with this key is undirected? Use #.dropEdge for this purpose instead.");if(this.multi)throw new Y("Graph.dropUndirectedEdge: cannot use a {source,target} combo when dropping an edge in a MultiGraph since we cannot infer the one you want to delete as there could be multiple ones.");let t=Ge(this,n,e,"undirected");if(!t)throw new B(`Graph.dropUndirectedEdge: could not find a "${n}" -> "${e}" edge in the graph.`);return Pt(this,t),this}clear(){this._edges.clear(),this._nodes.clear(),this._resetInstanceCounters(),this.emit("cleared")}clearEdges(){let n=this._nodes.values(),e;for(;e=n.next(),e.done!==!0;)e.value.clear();this._edges.clear(),this._resetInstanceCounters(),this.emit("edgesCleared")}getAttribute(n){return this._attributes[n]}getAttributes(){return this._attributes}hasAttribute(n){return this._attributes.hasOwnProperty(n)}setAttribute(n,e){return this._attributes[n]=e,this.emit("attributesUpdated",{type:"set",attributes:this._attributes,name:n}),this}updateAttribute(n,e){if(typeof e!="function")throw new $("Graph.updateAttribute: updater should be a function.");let t=this._attributes[n];return this._attributes[n]=e(t),this.emit("attributesUpdated",{type:"set",attributes:this._attributes,name:n}),this}removeAttribute(n){return delete this._attributes[n],this.emit("attributesUpdated",{type:"remove",attributes:this._attributes,name:n}),this}replaceAttributes(n){if(!Se(n))throw new $("Graph.replaceAttributes: provided attributes are not a plain object.");return this._attributes=n,this.emit("attributesUpdated",{type:"replace",attributes:this._attributes}),this}mergeAttributes(n){if(!Se(n))throw new $("Graph.mergeAttributes: provided attributes are not a plain object.");return be(this._attributes,n),this.emit("attributesUpdated",{type:"merge",attributes:this._attributes,data:n}),this}updateAttributes(n){if(typeof n!="function")throw new $("Graph.updateAttributes: provided updater is not a function.");return this._attributes=n(this._attributes),this.emit("attributesUpdated",{type:"update",attributes:this._attributes}),this}updateEachNodeAttributes(n,e){if(typeof n!="function")throw new $("Graph.updateEachNodeAttributes: expecting an updater function.");if(e&&!Ho(e))throw new $("Graph.updateEachNodeAttributes: invalid hints. Expecting an object having the following shape: {attributes?: [string]}");let t=this._nodes.values(),r,i;for(;r=t.next(),r.done!==!0;)i=r.value,i.attributes=n(i.key,i.attributes);this.emit("eachNodeAttributesUpdated",{hints:e||null})}updateEachEdgeAttributes(n,e){if(typeof n!="function")throw new $("Graph.updateEachEdgeAttributes: expecting an updater function.");if(e&&!Ho(e))throw new $("Graph.updateEachEdgeAttributes: invalid hints. Expecting an object having the following shape: {attributes?: [string]}");let t=this._edges.values(),r,i,o,s;for(;r=t.next(),r.done!==!0;)i=r.value,o=i.source,s=i.target,i.attributes=n(i.key,i.attributes,o.key,s.key,o.attributes,s.attributes,i.undirected);this.emit("eachEdgeAttributesUpdated",{hints:e||null})}forEachAdjacencyEntry(n){if(typeof n!="function")throw new $("Graph.forEachAdjacencyEntry: expecting a callback.");sa(!1,!1,!1,this,n)}forEachAdjacencyEntryWithOrphans(n){if(typeof n!="function")throw new $("Graph.forEachAdjacencyEntryWithOrphans: expecting a callback.");sa(!1,!1,!0,this,n)}forEachAssymetricAdjacencyEntry(n){if(typeof n!="function")throw new $("Graph.forEachAssymetricAdjacencyEntry: expecting a callback.");sa(!1,!0,!1,this,n)}forEachAssymetricAdjacencyEntryWithOrphans(n){if(typeof n!="function")throw new $("Graph.forEachAssymetricAdjacencyEntryWithOrphans: expecting a callback.");sa(!1,!0,!0,this,n)}nodes(){return Array.from(this._nodes.keys())}forEachNode(n){if(typeof n!="function")throw new $("Graph.forEachNode: expecting a callback.");let e=this._nodes.values(),t,r;for(;t=e.next(),t.done!==!0;)r=t.value,n(r.key,r.attributes)}findNode(n){if(typeof n!="function")throw new $("Graph.findNode: expecting a callback.");let e=this._nodes.values(),t,r;for(;t=e.next(),t.done!==!0;)if(r=t.value,n(r.key,r.attributes))return r.key}mapNodes(n){if(typeof n!="function")throw new $("Graph.mapNode: expecting a callback.");let e=this._nodes.values(),t,r,i=new Array(this.order),o=0;for(;t=e.next(),t.done!==!0;)r=t.value,i[o++]=n(r.key,r.attributes);return i}someNode(n){if(typeof n!="function")throw new $("Graph.someNode: expecting a callback.");let e=this._nodes.values(),t,r;for(;t=e.next(),t.done!==!0;)if(r=t.value,n(r.key,r.attributes))return!0;return!1}everyNode(n){if(typeof n!="function")throw new $("Graph.everyNode: expecting a callback.");let e=this._nodes.values(),t,r;for(;t=e.next(),t.done!==!0;)if(r=t.value,!n(r.key,r.attributes))return!1;return!0}filterNodes(n){if(typeof n!="function")throw new $("Graph.filterNodes: expecting a callback.");let e=this._nodes.values(),t,r,i=[];for(;t=e.next(),t.done!==!0;)r=t.value,n(r.key,r.attributes)&&i.push(r.key);return i}reduceNodes(n,e){if(typeof n!="function")throw new $("Graph.reduceNodes: expecting a callback.");if(arguments.length<2)throw new $("Graph.reduceNodes: missing initial value. You must provide it because the callback takes more than one argument and we cannot infer the initial value from the first iteration, as you could with a simple array.");let t=e,r=this._nodes.values(),i,o;for(;i=r.next(),i.done!==!0;)o=i.value,t=n(t,o.key,o.attributes);return t}nodeEntries(){let n=this._nodes.values();return{[Symbol.iterator](){return this},next(){let e=n.next();if(e.done)return e;let t=e.value;return{value:{node:t.key,attributes:t.attributes},done:!1}}}}export(){let n=new Array(this._nodes.size),e=0;this._nodes.forEach((r,i)=>{n[e++]=Sc(i,r)});let t=new Array(this._edges.size);return e=0,this._edges.forEach((r,i)=>{t[e++]=Ec(this.type,i,r)}),{options:{type:this.type,multi:this.multi,allowSelfLoops:this.allowSelfLoops},attributes:this.getAttributes(),nodes:n,edges:t}}import(n,e=!1){if(n instanceof a)return n.forEachNode((l,d)=>{e?this.mergeNode(l,d):this.addNode(l,d)}),n.forEachEdge((l,d,c,f,p,h,v)=>{e?v?this.mergeUndirectedEdgeWithKey(l,c,f,d):this.mergeDirectedEdgeWithKey(l,c,f,d):v?this.addUndirectedEdgeWithKey(l,c,f,d):this.addDirectedEdgeWithKey(l,c,f,d)}),this;if(!Se(n))throw new $("Graph.import: invalid argument. Expecting a serialized graph or, alternatively, a Graph instance.");if(n.attributes){if(!Se(n.attributes))throw new $("Graph.import: invalid attributes. Expecting a plain object.");e?this.mergeAttributes(n.attributes):this.replaceAttributes(n.attributes)}let t,r,i,o,s;if(n.nodes){if(i=n.nodes,!Array.isArray(i))throw new $("Graph.import: invalid nodes. Expecting an array.");for(t=0,r=i.length;t<r;t++){o=i[t],wc(o);let{key:l,attributes:d}=o;e?this.mergeNode(l,d):this.addNode(l,d)}}if(n.edges){let l=!1;if(this.type==="undirected"&&(l=!0),i=n.edges,!Array.isArray(i))throw new $("Graph.import: invalid edges. Expecting an array.");for(t=0,r=i.length;t<r;t++){s=i[t],Ac(s);let{source:d,target:c,attributes:f,undirected:p=l}=s,h;"key"in s?(h=e?p?this.mergeUndirectedEdgeWithKey:this.mergeDirectedEdgeWithKey:p?this.addUndirectedEdgeWithKey:this.addDirectedEdgeWithKey,h.call(this,s.key,d,c,f)):(h=e?p?this.mergeUndirectedEdge:this.mergeDirectedEdge:p?this.addUndirectedEdge:this.addDirectedEdge,h.call(this,d,c,f))}}return this}nullCopy(n){let e=new a(be({},this._options,n));return e.replaceAttributes(be({},this.getAttributes())),e}emptyCopy(n){let e=this.nullCopy(n);return this._nodes.forEach((t,r)=>{let i=be({},t.attributes);t=new e.NodeDataClass(r,i),e._nodes.set(r,t)}),e}copy(n){if(n=n||{},typeof n.type=="string"&&n.type!==this.type&&n.type!=="mixed")throw new Y(`Graph.copy: cannot create an incompatible copy from "${this.type}" type to "${n.type}" because this would mean losing information about the current graph.`);if(typeof n.multi=="boolean"&&n.multi!==this.multi&&n.multi!==!0)throw new Y("Graph.copy: cannot create an incompatible copy by downgrading a multi graph to a simple one because this would mean losing information about the current graph.");if(typeof n.allowSelfLoops=="boolean"&&n.allowSelfLoops!==this.allowSelfLoops&&n.allowSelfLoops!==!0)throw new Y("Graph.copy: cannot create an incompatible copy from a graph allowing self loops to one that does not because this would mean losing information about the current graph.");let e=this.emptyCopy(n),t=this._edges.values(),r,i;for(;r=t.next(),r.done!==!0;)i=r.value,ts(e,"copy",!1,i.undirected,i.key,i.source.key,i.target.key,be({},i.attributes));return e}toJSON(){return this.export()}toString(){return"[object Graph]"}inspect(){let n={};this._nodes.forEach((i,o)=>{n[o]=i.attributes});let e={},t={};this._edges.forEach((i,o)=>{let s=i.undirected?"--":"->",l="",d=i.source.key,c=i.target.key,f;i.undirected&&d>c&&(f=d,d=c,c=f);let p=`(${d})${s}(${c})`;o.startsWith("geid_")?this.multi&&(typeof t[p]>"u"?t[p]=0:t[p]++,l+=`${t[p]}. `):l+=`[${o}]: `,l+=p,e[l]=i.attributes});let r={};for(let i in this)this.hasOwnProperty(i)&&!$o.has(i)&&typeof this[i]!="function"&&typeof i!="symbol"&&(r[i]=this[i]);return r.attributes=this._attributes,r.nodes=n,r.edges=e,Ne(r,"constructor",this.constructor),r}};typeof Symbol<"u"&&(le.prototype[Symbol.for("nodejs.util.inspect.custom")]=le.prototype.inspect);Dc.forEach(a=>{["add","merge","update"].forEach(n=>{let e=a.name(n),t=n==="add"?ts:Pc;a.generateKey?le.prototype[e]=function(r,i,o){return t(this,e,!0,(a.type||this.type)==="undirected",null,r,i,o,n==="update")}:le.prototype[e]=function(r,i,o,s){return t(this,e,!1,(a.type||this.type)==="undirected",r,i,o,s,n==="update")}})});Bu(le);Qu(le);gc(le);Tc(le);var la=class extends le{constructor(n){let e=be({type:"directed"},n);if("multi"in e&&e.multi!==!1)throw new $("DirectedGraph.from: inconsistent indication that the graph should be multi in given options!");if(e.type!=="directed")throw new $('DirectedGraph.from: inconsistent "'+e.type+'" type in given options!');super(e)}},da=class extends le{constructor(n){let e=be({type:"undirected"},n);if("multi"in e&&e.multi!==!1)throw new $("UndirectedGraph.from: inconsistent indication that the graph should be multi in given options!");if(e.type!=="undirected")throw new $('UndirectedGraph.from: inconsistent "'+e.type+'" type in given options!');super(e)}},ua=class extends le{constructor(n){let e=be({multi:!0},n);if("multi"in e&&e.multi!==!0)throw new $("MultiGraph.from: inconsistent indication that the graph should be simple in given options!");super(e)}},ca=class extends le{constructor(n){let e=be({type:"directed",multi:!0},n);if("multi"in e&&e.multi!==!0)throw new $("MultiDirectedGraph.from: inconsistent indication that the graph should be simple in given options!");if(e.type!=="directed")throw new $('MultiDirectedGraph.from: inconsistent "'+e.type+'" type in given options!');super(e)}},ha=class extends le{constructor(n){let e=be({type:"undirected",multi:!0},n);if("multi"in e&&e.multi!==!0)throw new $("MultiUndirectedGraph.from: inconsistent indication that the graph should be simple in given options!");if(e.type!=="undirected")throw new $('MultiUndirectedGraph.from: inconsistent "'+e.type+'" type in given options!');super(e)}};function Mt(a){a.from=function(n,e){let t=be({},n.options,e),r=new a(t);return r.import(n),r}}Mt(le);Mt(la);Mt(da);Mt(ua);Mt(ca);Mt(ha);le.Graph=le;le.DirectedGraph=la;le.UndirectedGraph=da;le.MultiGraph=ua;le.MultiDirectedGraph=ca;le.MultiUndirectedGraph=ha;le.InvalidArgumentsGraphError=$;le.NotFoundGraphError=B;le.UsageGraphError=Y;function ma(a,n){(n==null||n>a.length)&&(n=a.length);for(var e=0,t=Array(n);e<n;e++)t[e]=a[e];return t}function va(a,n){if(a){if(typeof a=="string")return ma(a,n);var e={}.toString.call(a).slice(8,-1);return e==="Object"&&a.constructor&&(e=a.constructor.name),e==="Map"||e==="Set"?Array.from(a):e==="Arguments"||/^(?:Ui|I)nt(?:8|16|32)(?:Clamped)?Array$/.test(e)?ma(a,n):void 0}}function Fc(a){if(Array.isArray(a))return a}function Ic(a,n){var e=a==null?null:typeof Symbol<"u"&&a[Symbol.iterator]||a["@@iterator"];if(e!=null){var t,r,i,o,s=[],l=!0,d=!1;try{if(i=(e=e.call(a)).next,n===0){if(Object(e)!==e)return;l=!1}else for(;!(l=(t=i.call(e)).done)&&(s.push(t.value),s.length!==n);l=!0);}catch(c){d=!0,r=c}finally{try{if(!l&&e.return!=null&&(o=e.return(),Object(o)!==o))return}finally{if(d)throw r}}return s}}function Mc(){throw new TypeError(`Invalid attempt to destructure non-iterable instance.
In order to be iterable, non-array objects must have a [Symbol.iterator]() method.`)}function ae(a,n){return Fc(a)||Ic(a,n)||va(a,n)||Mc()}function O(a,n){var e=typeof Symbol<"u"&&a[Symbol.iterator]||a["@@iterator"];if(!e){if(Array.isArray(a)||(e=va(a))||n&&a&&typeof a.length=="number"){e&&(a=e);var t=0,r=function(){};return{s:r,n:function(){return t>=a.length?{done:!0}:{done:!1,value:a[t++]}},e:function(l){throw l},f:r}}throw new TypeError(`Invalid attempt to iterate non-iterable instance.
In order to be iterable, non-array objects must have a [Symbol.iterator]() method.`)}var i,o=!0,s=!1;return{s:function(){e=e.call(a)},n:function(){var l=e.next();return o=l.done,l},e:function(l){s=!0,i=l},f:function(){try{o||e.return==null||e.return()}finally{if(s)throw i}}}}function ze(){return Float32Array.of(1,0,0,0,1,0,0,0,1)}function ga(a,n,e){return a[0]=n,a[4]=typeof e=="number"?e:n,a}function ns(a,n){var e=Math.sin(n),t=Math.cos(n);return a[0]=t,a[1]=e,a[3]=-e,a[4]=t,a}function as(a,n,e){return a[6]=n,a[7]=e,a}function rt(a,n){var e=a[0],t=a[1],r=a[2],i=a[3],o=a[4],s=a[5],l=a[6],d=a[7],c=a[8],f=n[0],p=n[1],h=n[2],v=n[3],y=n[4],b=n[5],g=n[6],m=n[7],_=n[8];return a[0]=f*e+p*i+h*l,a[1]=f*t+p*o+h*d,a[2]=f*r+p*s+h*c,a[3]=v*e+y*i+b*l,a[4]=v*t+y*o+b*d,a[5]=v*r+y*s+b*c,a[6]=g*e+m*i+_*l,a[7]=g*t+m*o+_*d,a[8]=g*r+m*s+_*c,a}function Fr(a,n){var e=Math.cos(n),t=Math.sin(n);return{x:e*a.x+t*a.y,y:-t*a.x+e*a.y}}function Gt(a,n){var e=arguments.length>2&&arguments[2]!==void 0?arguments[2]:1,t=a[0],r=a[1],i=a[3],o=a[4],s=a[6],l=a[7],d=n.x,c=n.y;return{x:d*t+c*i+s*e,y:d*r+c*o+l*e}}function Nc(a,n){var e=a.height/a.width,t=n.height/n.width;return e<1&&t>1||e>1&&t<1?1:Math.min(Math.max(t,1/t),Math.max(1/e,e))}function it(a,n,e,t,r){var i=a.angle,o=a.ratio,s=a.x,l=a.y,d=n.width,c=n.height,f=ze(),p=Math.min(d,c)-2*t,h=Nc(n,e);return r?(rt(f,as(ze(),s,l)),rt(f,ga(ze(),o)),rt(f,ns(ze(),i)),rt(f,ga(ze(),d/p/2/h,c/p/2/h))):(rt(f,ga(ze(),2*(p/d)*h,2*(p/c)*h)),rt(f,ns(ze(),-i)),rt(f,ga(ze(),1/o)),rt(f,as(ze(),-s,-l))),f}function rs(a,n,e){var t=Gt(a,{x:Math.cos(n.angle),y:Math.sin(n.angle)},0),r=t.x,i=t.y;return 1/Math.sqrt(Math.pow(r,2)+Math.pow(i,2))/e.width}function Ir(a,n,e,t,r){var i=Math.floor(n/r*t),o=Math.floor(a.drawingBufferHeight/r-e/r*t);return[i,o]}var yn={black:"#000000",silver:"#C0C0C0",gray:"#808080",grey:"#808080",white:"#FFFFFF",maroon:"#800000",red:"#FF0000",purple:"#800080",fuchsia:"#FF00FF",green:"#008000",lime:"#00FF00",olive:"#808000",yellow:"#FFFF00",navy:"#000080",blue:"#0000FF",teal:"#008080",aqua:"#00FFFF",darkblue:"#00008B",mediumblue:"#0000CD",darkgreen:"#006400",darkcyan:"#008B8B",deepskyblue:"#00BFFF",darkturquoise:"#00CED1",mediumspringgreen:"#00FA9A",springgreen:"#00FF7F",cyan:"#00FFFF",midnightblue:"#191970",dodgerblue:"#1E90FF",lightseagreen:"#20B2AA",forestgreen:"#228B22",seagreen:"#2E8B57",darkslategray:"#2F4F4F",darkslategrey:"#2F4F4F",limegreen:"#32CD32",mediumseagreen:"#3CB371",turquoise:"#40E0D0",royalblue:"#4169E1",steelblue:"#4682B4",darkslateblue:"#483D8B",mediumturquoise:"#48D1CC",indigo:"#4B0082",darkolivegreen:"#556B2F",cadetblue:"#5F9EA0",cornflowerblue:"#6495ED",rebeccapurple:"#663399",mediumaquamarine:"#66CDAA",dimgray:"#696969",dimgrey:"#696969",slateblue:"#6A5ACD",olivedrab:"#6B8E23",slategray:"#708090",slategrey:"#708090",lightslategray:"#778899",lightslategrey:"#778899",mediumslateblue:"#7B68EE",lawngreen:"#7CFC00",chartreuse:"#7FFF00",aquamarine:"#7FFFD4",skyblue:"#87CEEB",lightskyblue:"#87CEFA",blueviolet:"#8A2BE2",darkred:"#8B0000",darkmagenta:"#8B008B",saddlebrown:"#8B4513",darkseagreen:"#8FBC8F",lightgreen:"#90EE90",mediumpurple:"#9370DB",darkviolet:"#9400D3",palegreen:"#98FB98",darkorchid:"#9932CC",yellowgreen:"#9ACD32",sienna:"#A0522D",brown:"#A52A2A",darkgray:"#A9A9A9",darkgrey:"#A9A9A9",lightblue:"#ADD8E6",greenyellow:"#ADFF2F",paleturquoise:"#AFEEEE",lightsteelblue:"#B0C4DE",powderblue:"#B0E0E6",firebrick:"#B22222",darkgoldenrod:"#B8860B",mediumorchid:"#BA55D3",rosybrown:"#BC8F8F",darkkhaki:"#BDB76B",mediumvioletred:"#C71585",indianred:"#CD5C5C",peru:"#CD853F",chocolate:"#D2691E",tan:"#D2B48C",lightgray:"#D3D3D3",lightgrey:"#D3D3D3",thistle:"#D8BFD8",orchid:"#DA70D6",goldenrod:"#DAA520",palevioletred:"#DB7093",crimson:"#DC143C",gainsboro:"#DCDCDC",plum:"#DDA0DD",burlywood:"#DEB887",lightcyan:"#E0FFFF",lavender:"#E6E6FA",darksalmon:"#E9967A",violet:"#EE82EE",palegoldenrod:"#EEE8AA",lightcoral:"#F08080",khaki:"#F0E68C",aliceblue:"#F0F8FF",honeydew:"#F0FFF0",azure:"#F0FFFF",sandybrown:"#F4A460",wheat:"#F5DEB3",beige:"#F5F5DC",whitesmoke:"#F5F5F5",mintcream:"#F5FFFA",ghostwhite:"#F8F8FF",salmon:"#FA8072",antiquewhite:"#FAEBD7",linen:"#FAF0E6",lightgoldenrodyellow:"#FAFAD2",oldlace:"#FDF5E6",magenta:"#FF00FF",deeppink:"#FF1493",orangered:"#FF4500",tomato:"#FF6347",hotpink:"#FF69B4",coral:"#FF7F50",darkorange:"#FF8C00",lightsalmon:"#FFA07A",orange:"#FFA500",lightpink:"#FFB6C1",pink:"#FFC0CB",gold:"#FFD700",peachpuff:"#FFDAB9",navajowhite:"#FFDEAD",moccasin:"#FFE4B5",bisque:"#FFE4C4",mistyrose:"#FFE4E1",blanchedalmond:"#FFEBCD",papayawhip:"#FFEFD5",lavenderblush:"#FFF0F5",seashell:"#FFF5EE",cornsilk:"#FFF8DC",lemonchiffon:"#FFFACD",floralwhite:"#FFFAF0",snow:"#FFFAFA",lightyellow:"#FFFFE0",ivory:"#FFFFF0"},is=new Int8Array(4),pa=new Int32Array(is.buffer,0,1),os=new Float32Array(is.buffer,0,1),Gc=/^\s*rgba?\s*\(/,zc=/^\s*rgba?\s*\(\s*([0-9]*)\s*,\s*([0-9]*)\s*,\s*([0-9]*)(?:\s*,\s*(.*)?)?\)\s*$/;function ba(a){var n=0,e=0,t=0,r=1,i=a.toLowerCase();if(i==="transparent")return{r:0,g:0,b:0,a:0};if(i in yn)return ba(yn[i]);if(a[0]==="#")a.length===4?(n=parseInt(a.charAt(1)+a.charAt(1),16),e=parseInt(a.charAt(2)+a.charAt(2),16),t=parseInt(a.charAt(3)+a.charAt(3),16)):(n=parseInt(a.charAt(1)+a.charAt(2),16),e=parseInt(a.charAt(3)+a.charAt(4),16),t=parseInt(a.charAt(5)+a.charAt(6),16)),a.length===9&&(r=parseInt(a.charAt(7)+a.charAt(8),16)/255);else if(Gc.test(a)){var o=a.match(zc);o&&(n=+o[1],e=+o[2],t=+o[3],o[4]&&(r=+o[4]))}return{r:n,g:e,b:t,a:r}}function ss(a){var n=arguments.length>1&&arguments[1]!==void 0?arguments[1]:!1,e=ba(a),t=e.r,r=e.g,i=e.b,o=e.a;return n?[t/255*o,r/255*o,i/255*o,o]:[t/255,r/255,i/255,o]}var Nt={};for(bn in yn)Nt[bn]=Oe(yn[bn]),Nt[yn[bn]]=Nt[bn];var bn;function Oc(a,n,e,t,r){return pa[0]=t<<24|e<<16|n<<8|a,r&&(pa[0]=pa[0]&4278190079),os[0]}function Oe(a){if(a=a.toLowerCase(),typeof Nt[a]<"u")return Nt[a];var n=ba(a),e=n.r,t=n.g,r=n.b,i=n.a;i=i*255|0;var o=Oc(e,t,r,i,!0);return Nt[a]=o,o}function ot(a,n){os[0]=Oe(a);var e=pa[0];n&&(e=e|16777216);var t=e&255,r=e>>8&255,i=e>>16&255,o=e>>24&255;return[t,r,i,o]}function zt(a){var n=a>>>8&255,e=a>>>16&255,t=a>>>24&255,r=a&255;return(r<<24|t<<16|e<<8|n)>>>0}function Mr(a,n,e,t){return(e<<24|n<<16|a<<8|t)>>>0}function ls(a,n,e,t,r,i){var o=Ir(a,e,t,r,i),s=ae(o,2),l=s[0],d=s[1],c=new Uint8Array(4);a.bindFramebuffer(a.FRAMEBUFFER,n),a.readPixels(l,d,1,1,a.RGBA,a.UNSIGNED_BYTE,c);var f=ae(c,4),p=f[0],h=f[1],v=f[2],y=f[3];return[p,h,v,y]}function ds(a){var n=ba(a),e=n.r,t=n.g,r=n.b,i=n.a,o=(e/255).toFixed(6),s=(t/255).toFixed(6),l=(r/255).toFixed(6),d=i.toFixed(6);return"vec4(".concat(o,", ").concat(s,", ").concat(l,", ").concat(d,")")}function Wc(a,n){if(typeof a!="object"||!a)return a;var e=a[Symbol.toPrimitive];if(e!==void 0){var t=e.call(a,n||"default");if(typeof t!="object")return t;throw new TypeError("@@toPrimitive must return a primitive value.")}return(n==="string"?String:Number)(a)}function hs(a){var n=Wc(a,"string");return typeof n=="symbol"?n:n+""}function w(a,n,e){return(n=hs(n))in a?Object.defineProperty(a,n,{value:e,enumerable:!0,configurable:!0,writable:!0}):a[n]=e,a}function us(a,n){var e=Object.keys(a);if(Object.getOwnPropertySymbols){var t=Object.getOwnPropertySymbols(a);n&&(t=t.filter(function(r){return Object.getOwnPropertyDescriptor(a,r).enumerable})),e.push.apply(e,t)}return e}function W(a){for(var n=1;n<arguments.length;n++){var e=arguments[n]!=null?arguments[n]:{};n%2?us(Object(e),!0).forEach(function(t){w(a,t,e[t])}):Object.getOwnPropertyDescriptors?Object.defineProperties(a,Object.getOwnPropertyDescriptors(e)):us(Object(e)).forEach(function(t){Object.defineProperty(a,t,Object.getOwnPropertyDescriptor(e,t))})}return a}function J(a,n){if(!(a instanceof n))throw new TypeError("Cannot call a class as a function")}function cs(a,n){for(var e=0;e<n.length;e++){var t=n[e];t.enumerable=t.enumerable||!1,t.configurable=!0,"value"in t&&(t.writable=!0),Object.defineProperty(a,hs(t.key),t)}}function ee(a,n,e){return n&&cs(a.prototype,n),e&&cs(a,e),Object.defineProperty(a,"prototype",{writable:!1}),a}function yt(a){return yt=Object.setPrototypeOf?Object.getPrototypeOf.bind():function(n){return n.__proto__||Object.getPrototypeOf(n)},yt(a)}function fs(){try{var a=!Boolean.prototype.valueOf.call(Reflect.construct(Boolean,[],function(){}))}catch{}return(fs=function(){return!!a})()}function Bc(a){if(a===void 0)throw new ReferenceError("this hasn't been initialised - super() hasn't been called");return a}function Uc(a,n){if(n&&(typeof n=="object"||typeof n=="function"))return n;if(n!==void 0)throw new TypeError("Derived constructors may only return object or undefined");return Bc(a)}function he(a,n,e){return n=yt(n),Uc(a,fs()?Reflect.construct(n,e||[],yt(a).constructor):n.apply(a,e))}function Nr(a,n){return Nr=Object.setPrototypeOf?Object.setPrototypeOf.bind():function(e,t){return e.__proto__=t,e},Nr(a,n)}function fe(a,n){if(typeof n!="function"&&n!==null)throw new TypeError("Super expression must either be null or a function");a.prototype=Object.create(n&&n.prototype,{constructor:{value:a,writable:!0,configurable:!0}}),Object.defineProperty(a,"prototype",{writable:!1}),n&&Nr(a,n)}function Hc(a){if(Array.isArray(a))return ma(a)}function $c(a){if(typeof Symbol<"u"&&a[Symbol.iterator]!=null||a["@@iterator"]!=null)return Array.from(a)}function Vc(){throw new TypeError(`Invalid attempt to spread non-iterable instance.
In order to be iterable, non-array objects must have a [Symbol.iterator]() method.`)}function q(a){return Hc(a)||$c(a)||va(a)||Vc()}function te(a){"@babel/helpers - typeof";return te=typeof Symbol=="function"&&typeof Symbol.iterator=="symbol"?function(n){return typeof n}:function(n){return n&&typeof Symbol=="function"&&n.constructor===Symbol&&n!==Symbol.prototype?"symbol":typeof n},te(a)}function He(a){return te(a)==="object"&&a!==null&&"attribute"in a}function _n(){var a=`
float sdf_circle(vec2 uv, float size) {
  return length(uv) - size;
}
`;return{name:"circle",glsl:a,uniforms:[]}}function xn(a){var n,e=WebGL2RenderingContext,t=e.UNSIGNED_BYTE,r=(n=a?.color)!==null&&n!==void 0?n:{attribute:"color"};if(!He(r)){var i=r,o=`
vec4 layer_fill() {
  return `.concat(ds(i),`;
}
`);return{name:"fill",uniforms:[],attributes:[],glsl:o}}var s=r.attribute,l=`
vec4 layer_fill(vec4 v_fillColor) {
  return v_fillColor;
}
`;return{name:"fill",uniforms:[],attributes:[{name:"fillColor",size:4,type:t,normalized:!0,source:s}],glsl:l}}function Gr(a,n){if(typeof a=="string"){var e=ss(a).map(function(d){return d.toFixed(6)}),t=ae(e,4),r=t[0],i=t[1],o=t[2],s=t[3];return{glsl:"vec4(".concat(r,", ").concat(i,", ").concat(o,", ").concat(s,")"),attributes:[],needsNodeColors:!1}}if("node"in a&&a.node)return{glsl:a.node==="source"?"v_sourceColor":"v_targetColor",attributes:[],needsNodeColors:!0};var l=a;return{glsl:"v_".concat(n),attributes:[{name:"a_".concat(n),size:4,type:WebGL2RenderingContext.UNSIGNED_BYTE,normalized:!0,source:l.attribute,defaultValue:l.default}],needsNodeColors:!1}}function je(a){var n=a?.color;if(n===void 0){var e=`
// Plain solid color layer
vec4 layer_plain(EdgeContext ctx) {
  return v_color;
}
`;return{name:"plain",glsl:e,uniforms:[],attributes:[]}}var t=Gr(n,"plainColor"),r=`
// Plain solid color layer
vec4 layer_plain(EdgeContext ctx) {
  return `.concat(t.glsl,`;
}
`);return{name:"plain",glsl:r,uniforms:[],attributes:t.attributes,needsNodeColors:t.needsNodeColors}}function Tn(){var a=`
// Position at parameter t ∈ [0, 1]
vec2 path_straight_position(float t, vec2 source, vec2 target) {
  return mix(source, target, t);
}

// Total length of the path (analytical - more efficient than sampling)
float path_straight_length(vec2 source, vec2 target) {
  return length(target - source);
}
`;return{name:"straight",segments:1,minBodyLengthRatio:0,linearParameterization:!0,glsl:a,uniforms:[],attributes:[]}}function zr(a){var n=a??{},e=n.segments,t=e===void 0?32:e,r=`
const float LOOP_PI = 3.141592653589793;

float loopWorldRadius() {
  float nodeWorldRadius = v_sourceNodeSize * u_correctionRatio / u_sizeRatio;
  return max(v_loopRadius * nodeWorldRadius, 0.001);
}

// Cubic Bézier with P0 = P3 = source.
// Control points extend outward orthogonal to the node surface at exit/entry angles.
vec2 path_loop_position(float t, vec2 source, vec2 target) {
  float R = loopWorldRadius();
  float angle = v_loopAngle + (v_loopFixedOrientation > 0.5 ? u_cameraAngle : 0.0);
  float halfSpread = v_loopSpread * 0.5;

  float exitAngle = angle - halfSpread;
  float entryAngle = angle + halfSpread;

  // Control point distance: at t=0.5 the Bézier reaches 0.75 * cpDist * cos(halfSpread)
  // from source. Solve for cpDist so the loop tip reaches exactly R.
  float cpDist = R / (0.75 * cos(halfSpread));

  vec2 cp1 = source + cpDist * vec2(cos(exitAngle), sin(exitAngle));
  vec2 cp2 = source + cpDist * vec2(cos(entryAngle), sin(entryAngle));

  float u = 1.0 - t;
  vec2 d1 = cp1 - source;
  vec2 d2 = cp2 - source;
  return source + 3.0 * t * u * (u * d1 + t * d2);
}

// Approximate arc length via chord sampling
float path_loop_length(vec2 source, vec2 target) {
  float len = 0.0;
  vec2 prev = path_loop_position(0.0, source, target);
  const int STEPS = 16;
  for (int i = 1; i <= STEPS; i++) {
    float t = float(i) / float(STEPS);
    vec2 cur = path_loop_position(t, source, target);
    len += length(cur - prev);
    prev = cur;
  }
  return len;
}
`;return{name:"loop",segments:t,glsl:r,needsNodeSize:!0,uniforms:[],attributes:[{name:"loopRadius",size:1,type:WebGL2RenderingContext.FLOAT},{name:"loopAngle",size:1,type:WebGL2RenderingContext.FLOAT},{name:"loopSpread",size:1,type:WebGL2RenderingContext.FLOAT},{name:"loopFixedOrientation",size:1,type:WebGL2RenderingContext.FLOAT}],variables:{loopRadius:{type:"number",default:4},loopAngle:{type:"number",default:Math.PI/4},loopSpread:{type:"number",default:80*Math.PI/180},loopFixedOrientation:{type:"number",default:0}},spread:{variable:"loopRadius",compute:function(o){return o+4}}}}var ys=gt(Ct());function gs(a){return te(a)==="object"&&"glsl"in a&&!("attributes"in a)}function ps(a){return te(a)==="object"&&"glsl"in a&&!("attributes"in a)}var Sn={shapes:[_n()],variables:{},layers:[xn()],label:{},backdrop:{},labelAttachments:{}},Ot={paths:[Tn(),zr()],extremities:[],variables:{},layers:[je()],defaultHead:"none",defaultTail:"none",label:{}},ya=["nodes","topNodes"],_a=["edges","topEdges"],xa=[].concat(_a,ya),ms={nodes:Sn,edges:Ot,depthLayers:q(xa)};var Xc=function(n){return n},jc=function(n){return n*n},qc=function(n){return n*(2-n)},Kc=function(n){return(n*=2)<1?.5*n*n:-.5*(--n*(n-2)-1)},Yc=function(n){return n*n*n},Zc=function(n){return--n*n*n+1},Qc=function(n){return(n*=2)<1?.5*n*n*n:.5*((n-=2)*n*n+2)},Jc=function(n){return n===0?0:Math.pow(2,10*(n-1))},eh=function(n){return n===1?1:1-Math.pow(2,-10*n)},th=function(n){return n===0?0:n===1?1:n<.5?Math.pow(2,10*(2*n-1))/2:(2-Math.pow(2,-10*(2*n-1)))/2},Or={linear:Xc,quadraticIn:jc,quadraticOut:qc,quadraticInOut:Kc,cubicIn:Yc,cubicOut:Zc,cubicInOut:Qc,exponentialIn:Jc,exponentialOut:eh,exponentialInOut:th};function Ta(a){return a?typeof a=="function"?a:Or[a]:Or.linear}function Br(a){return te(a)==="object"&&a!==null&&"attribute"in a}function _s(a){return typeof a=="function"}function xs(a){return te(a)==="object"&&a!==null&&"when"in a&&typeof a.when=="function"&&"then"in a}function Ts(a){return te(a)==="object"&&a!==null&&"whenState"in a&&"then"in a}function Ss(a){return te(a)==="object"&&a!==null&&"whenData"in a&&"then"in a}var nh={isHovered:!1,isLabelHovered:!1,isHidden:!1,isHighlighted:!1,isDragged:!1},ah={isHovered:!1,isLabelHovered:!1,isHidden:!1,isHighlighted:!1,parallelIndex:0,parallelCount:1},rh={isIdle:!0,isPanning:!1,isZooming:!1,isDragging:!1,hasHovered:!1,hasHighlighted:!1};function Es(a){return W(W({},nh),a)}function ws(a){return W(W({},ah),a)}function Ur(a){return W(W({},rh),a)}var ih={x:{attribute:"x"},y:{attribute:"y"},size:{whenState:"isHovered",then:{attribute:"size",defaultValue:12},else:{attribute:"size",defaultValue:10}},color:{attribute:"color",defaultValue:"#666"},label:{attribute:"label"},visibility:{whenState:"isHidden",then:"hidden",else:"visible"},labelVisibility:{whenState:"isHovered",then:"visible",else:"auto"},backdropVisibility:{whenState:"isHovered",then:"visible",else:"hidden"},backdropColor:"#ffffff",backdropShadowColor:"rgba(0, 0, 0, 0.5)",backdropShadowBlur:12,backdropPadding:6},oh={size:{attribute:"size",defaultValue:1},color:{attribute:"color",defaultValue:"#ccc"},label:{attribute:"label"},visibility:{whenState:"isHidden",then:"hidden",else:"visible"}};var Ea={nodes:W(W({},ih),{},{depth:{whenState:"isHovered",then:"topNodes",else:"nodes"}}),edges:W(W({},oh),{},{depth:{whenState:["isHighlighted","isHovered"],then:"topEdges",else:"edges"}})};function sh(a){return"min"in a||"max"in a||"minValue"in a||"maxValue"in a||"easing"in a}function lh(a){return"dict"in a}function wa(a,n){return typeof a=="string"?n[a]===!0:Array.isArray(a)?a.every(function(e){return n[e]===!0}):te(a)==="object"&&a!==null?Object.entries(a).every(function(e){var t=ae(e,2),r=t[0],i=t[1];return n[r]===i}):!1}function dh(a,n){var e=n[a.attribute];return e===void 0?a.defaultValue:e}function uh(a,n,e){var t,r,i,o,s=n[a.attribute];if(s===void 0)return a.defaultValue;var l=Number(s);if(isNaN(l))return a.defaultValue;if(a.min===void 0&&a.max===void 0)return l;var d=(t=a.minValue)!==null&&t!==void 0?t:l,c=(r=a.maxValue)!==null&&r!==void 0?r:l;if(c===d){var f;return(f=a.min)!==null&&f!==void 0?f:l}var p=(l-d)/(c-d);p=Math.max(0,Math.min(1,p));var h=Ta(a.easing);p=h(p);var v=(i=a.min)!==null&&i!==void 0?i:0,y=(o=a.max)!==null&&o!==void 0?o:1;return v+p*(y-v)}function ch(a,n){var e=n[a.attribute];if(e===void 0)return a.defaultValue;var t=String(e);return t in a.dict?a.dict[t]:a.defaultValue}function hh(a,n,e){return lh(a)?ch(a,n):sh(a)?uh(a,n):dh(a,n)}function As(a,n){return typeof a=="string"?!!n[a]:Array.isArray(a)?a.every(function(e){return!!n[e]}):te(a)==="object"&&a!==null?Object.entries(a).every(function(e){var t=ae(e,2),r=t[0],i=t[1];return n[r]===i}):!1}function Sa(a,n,e,t,r,i){if(a==null)return i;if(te(a)!=="object"&&typeof a!="function")return a;if(xs(a)){var o=a.when(n,e,t,r)?a.then:a.else;return o===void 0?i:Sa(o,n,e,t,r,i)}if(Ts(a)){var s=wa(a.whenState,e)?a.then:a.else;return s===void 0?i:Sa(s,n,e,t,r,i)}if(Ss(a)){var l=As(a.whenData,n)?a.then:a.else;return l===void 0?i:Sa(l,n,e,t,r,i)}if(_s(a)){var d=a(n,e,t,r);return d??i}if(Br(a)){var c=hh(a,n);return c??i}return a}function $e(a){if(a==null)return"static";if(xs(a))return"graph-state";if(Ts(a)){var n=$e(a.then),e=a.else!==void 0?$e(a.else):"static";return We("item-state",We(n,e))}if(Ss(a)){var t=$e(a.then),r=a.else!==void 0?$e(a.else):"static";return We(t,r)}return _s(a)?"graph-state":(Br(a),"static")}function We(a,n){return a==="graph-state"||n==="graph-state"?"graph-state":a==="item-state"||n==="item-state"?"item-state":"static"}function Hr(a){if(!a)return{dependency:"static",xAttribute:null,yAttribute:null};var n=Array.isArray(a)?a:[a],e="static",t=null,r=null,i=O(n),o;try{for(i.s();!(o=i.n()).done;){var s=o.value;if("matchData"in s&&"cases"in s)for(var l=s.cases,d=0,c=Object.values(l);d<c.length;d++)for(var f=c[d],p=0,h=Object.values(f);p<h.length;p++){var v=h[p];e=We(e,$e(v))}else if("matchState"in s&&"cases"in s){e=We(e,"item-state");for(var y=s.cases,b=0,g=Object.values(y);b<g.length;b++)for(var m=g[b],_=0,x=Object.values(m);_<x.length;_++){var T=x[_];e=We(e,$e(T))}}else if("when"in s&&"then"in s)e="graph-state";else if("whenState"in s){e=We(e,"item-state");var S=s.then;if(S&&te(S)==="object")for(var A=0,E=Object.values(S);A<E.length;A++){var D=E[A];e=We(e,$e(D))}var k=s.else;if(k&&te(k)==="object")for(var P=0,R=Object.values(k);P<R.length;P++){var C=R[P];e=We(e,$e(C))}}else if("whenData"in s){var L=s.then;if(L&&te(L)==="object")for(var M=0,G=Object.values(L);M<G.length;M++){var N=G[M];e=We(e,$e(N))}var F=s.else;if(F&&te(F)==="object")for(var I=0,z=Object.values(F);I<z.length;I++){var X=z[I];e=We(e,$e(X))}}else for(var H=0,Q=Object.entries(s);H<Q.length;H++){var K=ae(Q[H],2),Z=K[0],De=K[1];if(!Vr.has(Z)&&(e=We(e,$e(De)),(Z==="x"||Z==="y")&&Br(De))){var _e=De.attribute;Z==="x"&&!t&&(t=_e),Z==="y"&&!r&&(r=_e)}}}}catch(Re){i.e(Re)}finally{i.f()}return{dependency:e,xAttribute:t,yAttribute:r}}var et={size:10,color:"#666",opacity:1,shape:"circle",rotationAlignment:"viewport",labelRotationAlignment:"viewport",visibility:"visible",depth:"nodes",zIndex:0,label:"",labelColor:"#000",labelSize:12,labelFont:"sans-serif",labelVisibility:"auto",labelPosition:"right",labelAngle:0,labelDepth:"nodes",backdropVisibility:"hidden",backdropColor:"transparent",backdropShadowColor:"transparent",backdropShadowBlur:0,backdropPadding:0,backdropBorderColor:"transparent",backdropBorderWidth:0,backdropCornerRadius:0,backdropLabelPadding:-1,backdropArea:"both",labelAttachment:null,labelAttachmentPlacement:"below"},$r={size:1,color:"#ccc",opacity:1,path:"straight",selfLoopPath:"loop",parallelSpread:.25,tail:"none",head:"none",visibility:"visible",depth:"edges",zIndex:0,label:"",labelColor:"#666",labelVisibility:"auto",labelDepth:"edges"},Vr=new Set(["when","whenState","whenData","then","else"]),vs=Object.keys(et),fh=Object.values(et),bs=Object.keys($r),gh=Object.values($r);function Wt(a,n,e,t,r,i,o){for(var s in n){var l;if(!Vr.has(s)){var d=(l=a[s])!==null&&l!==void 0?l:o[s];a[s]=Sa(n[s],e,t,r,i,d)}}"depth"in n&&!("labelDepth"in n)&&(a.labelDepth=a.depth)}function Rs(a,n,e,t,r,i,o){var s=O(n),l;try{for(s.s();!(l=s.n()).done;){var d=l.value;if("matchData"in d&&"cases"in d){var c,f=String((c=e[d.matchData])!==null&&c!==void 0?c:""),p=d.cases;f in p&&Wt(a,p[f],e,t,r,i,o)}else if("matchState"in d&&"cases"in d){var h,v=String((h=t[d.matchState])!==null&&h!==void 0?h:""),y=d.cases;v in y&&Wt(a,y[v],e,t,r,i,o)}else if("when"in d&&"then"in d){var b=d.when;if(!b(e,t,r,i))continue;Wt(a,d.then,e,t,r,i,o)}else if("whenState"in d&&"then"in d){if(!wa(d.whenState,t))continue;Wt(a,d.then,e,t,r,i,o)}else if("whenData"in d&&"then"in d){if(!As(d.whenData,e))continue;Wt(a,d.then,e,t,r,i,o)}else Wt(a,d,e,t,r,i,o)}}catch(g){s.e(g)}finally{s.f()}}function Xr(a,n,e,t,r,i){for(var o=i||{},s=o,l=0,d=vs.length;l<d;l++)s[vs[l]]=fh[l];if(s.x=void 0,s.y=void 0,s.labelBackgroundColor=void 0,s.labelBackgroundPadding=void 0,s.labelCursor=void 0,!a){var c,f,p,h,v;return s.x=(c=n.x)!==null&&c!==void 0?c:0,s.y=(f=n.y)!==null&&f!==void 0?f:0,o.size=(p=n.size)!==null&&p!==void 0?p:10,o.color=(h=n.color)!==null&&h!==void 0?h:"#666",o.label=(v=n.label)!==null&&v!==void 0?v:"",o}var y=Array.isArray(a)?a:[a];return Rs(s,y,n,e,t,r,et),o}function jr(a,n,e,t,r,i){for(var o=i||{},s=o,l=0,d=bs.length;l<d;l++)s[bs[l]]=gh[l];if(!a){var c,f,p;return o.size=(c=n.size)!==null&&c!==void 0?c:1,o.color=(f=n.color)!==null&&f!==void 0?f:"#ccc",o.label=(p=n.label)!==null&&p!==void 0?p:"",o}var h=Array.isArray(a)?a:[a];return Rs(s,h,n,e,t,r,$r),typeof s.labelPosition=="number"&&(s.labelPosition=void 0),o}function ph(a,n,e){var t,r;if(a==null)return e;if(typeof a=="function")return(t=a(n))!==null&&t!==void 0?t:e;if(te(a)==="object"&&"when"in a){var i,o=a,s=o.when(n),l=s?o.then:o.else;return l===void 0?e:typeof l=="function"?(i=l(n))!==null&&i!==void 0?i:e:l??e}if(te(a)==="object"&&"whenState"in a){var d,c=a,f=wa(c.whenState,n),p=f?c.then:c.else;return p===void 0?e:typeof p=="function"?(d=p(n))!==null&&d!==void 0?d:e:p??e}return(r=a)!==null&&r!==void 0?r:e}function qr(a,n){var e={};if(!a)return e;var t=Array.isArray(a)?a:[a],r=O(t),i;try{for(r.s();!(i=r.n()).done;){var o=i.value;if("when"in o&&"then"in o){var s=o.when(n),l=s?o.then:o.else;l&&te(l)==="object"&&Wr(e,l,n)}else if("whenState"in o&&"then"in o){var d=wa(o.whenState,n),c=d?o.then:o.else;c&&te(c)==="object"&&Wr(e,c,n)}else Wr(e,o,n)}}catch(f){r.e(f)}finally{r.f()}return e}function Wr(a,n,e){for(var t=0,r=Object.entries(n);t<r.length;t++){var i=ae(r[t],2),o=i[0],s=i[1];Vr.has(o)||(a[o]=ph(s,e))}}var Aa=(function(a){function n(){var e;return J(this,n),e=he(this,n),e.rawEmitter=e,e}return fe(n,a),ee(n)})(ys.EventEmitter);var ks=ms;function Kr(a,n){var e=n.size;if(e!==0){var t=a.length;a.length+=e;var r=0;n.forEach(function(i){a[t+r]=i,r++})}}function Ds(a){a=a||{};for(var n=0,e=arguments.length<=1?0:arguments.length-1;n<e;n++){var t=n+1<1||arguments.length<=n+1?void 0:arguments[n+1];t&&Object.assign(a,t)}return a}function Bt(a,n){for(var e in n)if(Object.prototype.hasOwnProperty.call(n,e)&&n[e]!==a[e])return!0;return!1}function Ls(a,n){var e=a,t=n;for(var r in e)if(Object.prototype.hasOwnProperty.call(e,r)&&e[r]!==t[r])return!1;for(var i in t)if(Object.prototype.hasOwnProperty.call(t,i)&&t[i]!==e[i])return!1;return!0}function _t(a,n,e){e?a.add(n):a.delete(n)}var Ps=gt(Yr());var Fs={easing:"quadraticInOut",duration:150};function st(a){return a.labelVisibility==="visible"&&a.visibility!=="hidden"}function Zr(a){return a.backdropVisibility==="visible"&&a.visibility!=="hidden"}function Ra(a){return[a.rotationAlignment==="graph"?1:0,a.labelRotationAlignment==="graph"?1:0]}function Qr(a,n,e){var t=a[n];if(t)for(var r=0;r<t.length;r++){var i=t[r];if(!(e<i.offset||e>=i.offset+i.count)){if(i.count===1)t.splice(r,1);else if(e===i.offset)i.offset++,i.count--;else if(e===i.offset+i.count-1)i.count--;else{var o=e+1,s=i.offset+i.count-o;i.count=e-i.offset,t.splice(r+1,0,{offset:o,count:s})}return}}}function Jr(a,n,e){if(!a[n]){a[n]=[{offset:e,count:1}];return}for(var t=a[n],r=t.length,i=0;i<t.length;i++)if(e<t[i].offset){r=i;break}var o=r>0?t[r-1]:null,s=r<t.length?t[r]:null,l=o&&o.offset+o.count===e,d=s&&e+1===s.offset;l&&d?(o.count+=1+s.count,t.splice(r,1)):l?o.count++:d?(s.offset--,s.count++):t.splice(r,0,{offset:e,count:1})}function Is(a){if(!(0,Ps.default)(a))throw new Error("Sigma: invalid graph instance.")}function ka(a){var n=ae(a.x,2),e=n[0],t=n[1],r=ae(a.y,2),i=r[0],o=r[1],s=Math.max(t-e,o-i),l=(t+e)/2,d=(o+i)/2;(s===0||Math.abs(s)===1/0||isNaN(s))&&(s=1),isNaN(l)&&(l=0),isNaN(d)&&(d=0);var c=function(p){return{x:.5+(p.x-l)/s,y:.5+(p.y-d)/s}};return c.applyTo=function(f){f.x=.5+(f.x-l)/s,f.y=.5+(f.y-d)/s},c.inverse=function(f){return{x:l+s*(f.x-.5),y:d+s*(f.y-.5)}},c.ratio=s,c}var Da={hideEdgesOnMove:!1,hideLabelsOnMove:!1,renderLabels:!0,renderEdgeLabels:!1,edgeLabelAnchors:"nodeLabels",enableEdgeEvents:!1,nodeLabelEvents:!1,edgeLabelEvents:!1,pickingDownSizingRatio:2,nodePickingPadding:0,edgePickingPadding:4,labelPickingPadding:10,stagePadding:30,minEdgeThickness:1.7,antiAliasingFeather:1,antialiasEdges:!0,antialiasNodes:!0,dragTimeout:100,draggedEventsTolerance:3,inertiaDuration:200,inertiaRatio:3,zoomDuration:250,zoomingRatio:1.7,doubleClickTimeout:300,doubleClickZoomingRatio:2.2,doubleClickZoomingDuration:200,tapMoveTolerance:10,zoomToSizeRatioFunction:Math.sqrt,itemSizesReference:"positions",autoRescale:!0,autoRescaleContent:"positions",enableNodeDrag:!1,getDraggedNodes:function(n){return[n]},dragPositionToAttributes:null,labelDensity:1,labelGridCellSize:100,labelRenderedSizeThreshold:6,labelPixelSnapping:!0,minCameraRatio:null,maxCameraRatio:null,enableCameraZooming:!0,enableCameraPanning:!0,enableCameraRotation:!0,enableCameraMouseRotation:!0,cameraPanBoundaries:null,gestureTarget:"graph",sharedGestureWheelMessage:"Use Ctrl + scroll to zoom the graph",sharedGestureAppleWheelMessage:"Use ⌘ + scroll to zoom the graph",sharedGestureTouchMessage:"Use two fingers to move the graph",allowInvalidContainer:!1,DEBUG_displayPickingLayer:!1,DEBUG_logShaders:!1,DEBUG_logRenderStats:!1,DEBUG_gpuTimerQueries:!1};function La(a){if(typeof a.labelDensity!="number"||a.labelDensity<0)throw new Error("Settings: invalid `labelDensity`. Expecting a positive number.");var n=a.minCameraRatio,e=a.maxCameraRatio;if(typeof n=="number"&&typeof e=="number"&&e<n)throw new Error("Settings: invalid camera ratio boundaries. Expecting `maxCameraRatio` to be greater than `minCameraRatio`.")}function Ms(a){return Ds({},Da,a)}var mh=new Set(["italic","oblique"]),vh=new Set(["bold","bolder","lighter"]);function Ca(a){for(var n="normal",e="normal",t=a.trim(),r=t.split(/\s+/),i=0,o=0;o<r.length;o++){var s=r[o].toLowerCase();if(mh.has(s))e=s,i=o+1;else if(vh.has(s)||/^\d{3}$/.test(s))n=s,i=o+1;else if(s==="normal")i=o+1;else break}var l=r.slice(i).join(" ");return{family:l||t,weight:n,style:e}}function Ut(a,n,e){var t=document.createElement(a);if(n)for(var r in n)t.style[r]=n[r];if(e)for(var i in e)t.setAttribute(i,e[i]);return t}function En(){return typeof window.devicePixelRatio<"u"?window.devicePixelRatio:1}var Vs=gt(Ct());function bh(a){var n=a.type===WebGL2RenderingContext.FLOAT&&!a.normalized,e=a.type===WebGL2RenderingContext.UNSIGNED_BYTE&&a.size===4&&a.normalized;if(!n&&!e)throw new Error('Attribute "'.concat(a.name,'" is invalid: only non-normalized FLOAT and normalized UNSIGNED_BYTE with size 4 are supported.'));return a.normalized?1:a.size}function ei(a){var n=0;return a.forEach(function(e){return n+=bh(e)}),n}function Xs(a,n,e){var t=a==="VERTEX"?n.VERTEX_SHADER:n.FRAGMENT_SHADER,r=n.createShader(t);if(r===null)throw new Error("loadShader: error while creating the shader");n.shaderSource(r,e),n.compileShader(r);var i=n.getShaderParameter(r,n.COMPILE_STATUS);if(!i){var o=n.getShaderInfoLog(r);throw n.deleteShader(r),new Error(`loadShader: error while compiling the shader:
`.concat(o,`
`).concat(e))}return r}function ni(a,n){return Xs("VERTEX",a,n)}function ai(a,n){return Xs("FRAGMENT",a,n)}function ri(a,n){var e=a.createProgram();if(e===null)throw new Error("loadProgram: error while creating the program.");var t,r;for(t=0,r=n.length;t<r;t++)a.attachShader(e,n[t]);a.linkProgram(e);var i=a.getProgramParameter(e,a.LINK_STATUS);if(!i){var o=a.getProgramInfoLog(e);throw a.deleteProgram(e),new Error("loadProgram: error while linking the program: ".concat(o))}return e}function Ns(a){var n=a.gl,e=a.buffer,t=a.program,r=a.vertexShader,i=a.fragmentShader;n.deleteShader(r),n.deleteShader(i),n.deleteProgram(t),n.deleteBuffer(e)}function pe(a){return a%1===0?a.toFixed(1):a.toString()}var Ga=new Map,js=new Map,yh=0;function qs(a,n){var e,t=(e=a.variables)===null||e===void 0||(e=e[n.source||n.name.replace(/^a_/,"")])===null||e===void 0?void 0:e.default,r=typeof t=="number"?t:typeof n.defaultValue=="number"?n.defaultValue:0;return pe(r)}function za(a,n,e){var t,r=arguments.length>3&&arguments[3]!==void 0?arguments[3]:function(o){return"v_".concat(o.name.replace(/^a_/,""))},i=[n,e].concat(q(a.uniforms.filter(function(o){return o.type==="float"}).map(function(o){var s;return pe((s=o.value)!==null&&s!==void 0?s:0)})),q(((t=a.attributes)!==null&&t!==void 0?t:[]).map(r)));return"sdf_".concat(a.name,"(").concat(i.join(", "),")")}function _h(a){var n,e=a.name,t=a.uniforms.filter(function(o){return o.type==="float"&&o.value!==void 0&&o.value!==0}).map(function(o){return"".concat(o.name.replace("u_",""),"=").concat(o.value)}).sort(),r=((n=a.attributes)!==null&&n!==void 0?n:[]).map(function(o){var s;return"".concat(o.name,"@").concat((s=o.source)!==null&&s!==void 0?s:"","=").concat(qs(a,o))}),i=[].concat(q(t),q(r));return i.length>0&&(e+="#"+i.join("#")),e}function xh(a){var n=_h(a);if(!Ga.has(n)){var e={},t=O(a.uniforms),r;try{for(t.s();!(r=t.n()).done;){var i=r.value;i.type==="float"&&i.value!==void 0&&(e[i.name]=i.value)}}catch(o){t.e(o)}finally{t.f()}Ga.set(n,{shape:a,uniformValues:e,slug:n}),js.set(n,yh++)}return n}function Dn(a){var n;return(n=js.get(a))!==null&&n!==void 0?n:-1}function Ks(a){var n=[],e=new Set,t=new Set,r=/mat2 rotate2D\(float angle\)\s*\{[^}]+\}/,i=O(a),o;try{for(i.s();!(o=i.n()).done;){var s=o.value;if(!t.has(s.name)){t.add(s.name);var l=s.glsl;r.test(l)&&(e.has("rotate2D")?l=l.replace(r,""):e.add("rotate2D")),n.push(l)}}}catch(d){i.e(d)}finally{i.f()}return n.join(`
`)}function Th(){return Ks(Array.from(Ga.values()).map(function(a){return a.shape}))}function Sh(a){var n=Array.from(Ga.entries());if(n.length===0)return`
float querySDF(int shapeId, vec2 uv, float size) {
  return length(uv) - size;
}
`;var e=n.map(function(t,r){var i=ae(t,2),o=i[0],s=i[1].shape,l=za(s,"uv","size",function(d){var c=d.name.replace(/^a_/,"");return a!=null&&a.has(c)?"g_".concat(c):qs(s,d)});return"    case ".concat(r,": return ").concat(l,"; // ").concat(o)}).join(`
`);return`
float querySDF(int shapeId, vec2 uv, float size) {
  switch (shapeId) {
`.concat(e,`
    default: return length(uv) - size;
  }
}
`)}function ii(a){return Ks(a)}function Ln(a){return q(new Map(a.flatMap(function(n){return n.uniforms}).map(function(n){return[n.name,n]})).values())}function Eh(a,n){if(a.length===0)return`
void queryNodeSDF(int shapeId, vec2 uv, float size) {
  context.sdf = length(uv) - size;
  context.inradiusFactor = 1.0;
}
`;var e=function(f){return za(f,"uv","size")},t=function(f){var p,h;return(p=f.inradiusFactorGLSL)!==null&&p!==void 0?p:pe((h=f.inradiusFactor)!==null&&h!==void 0?h:1)};if(a.length===1){var r=a[0];return`
void queryNodeSDF(int shapeId, vec2 uv, float size) {
  context.sdf = `.concat(e(r),`;
  context.inradiusFactor = `).concat(t(r),`;
}
`)}var i=a.map(function(c,f){return"    case ".concat(f,": // ").concat(c.name,`
      context.sdf = `).concat(e(c),`;
      context.inradiusFactor = `).concat(t(c),`;
      break;`)}).join(`
`),o=a[0],s="",l="shapeId";if(n&&n.length>1){var d=n.map(function(c,f){return"    case ".concat(c,": return ").concat(f,"; // ").concat(a[f].name)}).join(`
`);s=`
int globalToLocalShapeId(int globalId) {
  switch (globalId) {
`.concat(d,`
    default: return 0;
  }
}
`),l="globalToLocalShapeId(shapeId)"}return"".concat(s,`
void queryNodeSDF(int shapeId, vec2 uv, float size) {
  switch (`).concat(l,`) {
`).concat(i,`
    default:
      context.sdf = `).concat(e(o),`;
      context.inradiusFactor = `).concat(t(o),`;
  }
}
`)}var $t={right:0,left:1,above:2,below:3,over:4},Vt=5,oi=3,Ys=`
float matrixScaleX = length(vec2(u_matrix[0][0], u_matrix[1][0]));
float nodeRadiusGraphSpace = nodeSize * u_correctionRatio / u_sizeRatio * 2.0;
float nodeRadiusNDC = nodeRadiusGraphSpace * matrixScaleX;
float nodeRadiusPixels = nodeRadiusNDC * u_resolution.x / 2.0;
`,si=`
mat2 rotate2D(float angle) {
  float c = cos(angle);
  float s = sin(angle);
  return mat2(c, -s, s, c);
}
`,Zs=`
vec2 getLabelDirection(float positionMode) {
  if (positionMode < 0.5) return vec2(1.0, 0.0);   // Right
  if (positionMode < 1.5) return vec2(-1.0, 0.0);  // Left
  if (positionMode < 2.5) return vec2(0.0, -1.0);  // Above
  if (positionMode < 3.5) return vec2(0.0, 1.0);   // Below
  return vec2(0.0);                                 // Over (centered)
}
`,wh=`
float sdfBox(vec2 p, vec2 halfSize) {
  vec2 d = abs(p) - halfSize;
  return length(max(d, 0.0)) + min(max(d.x, d.y), 0.0);
}
`,Ah=`
float sdfRotatedBox(vec2 p, vec2 halfSize, float angle) {
  float c = cos(-angle);
  float s = sin(-angle);
  vec2 rotatedP = mat2(c, -s, s, c) * p;
  return sdfBox(rotatedP, halfSize);
}
`,Rh=`
float sdfRoundedBox(vec2 p, vec2 halfSize, float radius) {
  vec2 d = abs(p) - halfSize + radius;
  return length(max(d, 0.0)) + min(max(d.x, d.y), 0.0) - radius;
}
`,kh=`
float sdfRoundedRotatedBox(vec2 p, vec2 halfSize, float angle, float radius) {
  float c = cos(-angle);
  float s = sin(-angle);
  vec2 rotatedP = mat2(c, -s, s, c) * p;
  return sdfRoundedBox(rotatedP, halfSize, radius);
}
`,Qs=`
vec2 labelBoxCenter(float positionMode, float labelStart, vec2 halfSize, float textHalfY) {
  if (positionMode < 0.5) return vec2(labelStart + halfSize.x, 0.0);    // right
  if (positionMode < 1.5) return vec2(-(labelStart + halfSize.x), 0.0); // left
  if (positionMode < 2.5) return vec2(0.0, -(labelStart + textHalfY));  // above
  if (positionMode < 3.5) return vec2(0.0, labelStart + textHalfY);     // below
  return vec2(0.0);                                                     // over
}
`,li=2,tt=`
vec4 readNodeData(sampler2D nodeDataTexture, int nodeDataTextureWidth, int nodeIndex) {
  int t = nodeIndex * `.concat(li,`;
  ivec2 coord = ivec2(t % nodeDataTextureWidth, t / nodeDataTextureWidth);
  return texelFetch(nodeDataTexture, coord, 0);
}
`),Tt=`
vec4 readNodeFlags(sampler2D nodeDataTexture, int nodeDataTextureWidth, int nodeIndex) {
  int t = nodeIndex * `.concat(li,` + 1;
  ivec2 coord = ivec2(t % nodeDataTextureWidth, t / nodeDataTextureWidth);
  return texelFetch(nodeDataTexture, coord, 0);
}
`),Dh=`
vec4 readNodeColor(sampler2D nodeDataTexture, int nodeDataTextureWidth, int nodeIndex) {
  int t = nodeIndex * `.concat(li,` + 1;
  ivec2 coord = ivec2(t % nodeDataTextureWidth, t / nodeDataTextureWidth);
  vec4 texel = texelFetch(nodeDataTexture, coord, 0);
  float r = floor(texel.b / 65536.0);
  float g = floor(mod(texel.b, 65536.0) / 256.0);
  float b = mod(texel.b, 256.0);
  return vec4(r / 255.0, g / 255.0, b / 255.0, texel.a);
}
`),Xt=`
vec4 readFrameTexel(sampler2D frameTexture, int frameTextureWidth, int index) {
  ivec2 coord = ivec2(index % frameTextureWidth, index / frameTextureWidth);
  return texelFetch(frameTexture, coord, 0);
}
`;function Lh(a,n){var e=function(o){return za(o,"uv","size")};if(a.length===1)return{code:Gs(e(a[0])),multiShape:!1};var t=a.map(function(i,o){return"    case ".concat(n?n[o]:o,": return ").concat(e(i),";")}).join(`
`),r=`
float queryShapeSDF(int shapeId, vec2 uv, float size) {
  switch (shapeId) {
`.concat(t,`
    default: return `).concat(e(a[0]),`;
  }
}
int g_shapeId;
`).concat(Gs("queryShapeSDF(g_shapeId, uv, size)"),`
`);return{code:r,multiShape:!0}}function Gs(a){return`
float findEdgeDistance(vec2 direction, float size) {
  float lo = 0.0, hi = 2.0;
  for (int i = 0; i < 8; i++) {
    float mid = (lo + hi) * 0.5;
    vec2 uv = direction * mid;
    if (`.concat(a,` < 0.0) lo = mid; else hi = mid;
  }
  return (lo + hi) * 0.5;
}
`)}function Ch(a,n){for(;!{}.hasOwnProperty.call(a,n)&&(a=yt(a))!==null;);return a}function ti(){return ti=typeof Reflect<"u"&&Reflect.get?Reflect.get.bind():function(a,n,e){var t=Ch(a,n);if(t){var r=Object.getOwnPropertyDescriptor(t,n);return r.get?r.get.call(arguments.length<3?a:e):r.value}},ti.apply(null,arguments)}function ye(a,n,e,t){var r=ti(yt(1&t?a.prototype:a),n,e);return 2&t&&typeof r=="function"?function(i){return r.apply(e,i)}:r}var Ph=1024,Fh=1.5,Ih=4096,Js=-1,Oa=(function(){function a(n,e){var t=arguments.length>2&&arguments[2]!==void 0?arguments[2]:Ph;J(this,a),w(this,"texture",null),w(this,"dirty",!1),w(this,"dirtyRangeStart",1/0),w(this,"dirtyRangeEnd",-1),w(this,"indexMap",new Map),w(this,"freeIndices",[]),w(this,"nextIndex",0),this.gl=n,this.TEXELS_PER_ITEM=e,this.capacity=this.roundUpToPowerOfTwo(t);var r=this.computeTextureDimensions(this.capacity);this.textureWidth=r.width,this.textureHeight=r.height,this.data=new Float32Array(this.textureWidth*this.textureHeight*4),this.createTexture()}return ee(a,[{key:"computeTextureDimensions",value:function(e){var t=e*this.TEXELS_PER_ITEM,r=Math.min(t,Ih),i=Math.ceil(t/r);return{width:r,height:i}}},{key:"roundUpToPowerOfTwo",value:function(e){return Math.pow(2,Math.ceil(Math.log2(Math.max(1,e))))}},{key:"createTexture",value:function(){var e=this.gl;this.texture=e.createTexture(),e.activeTexture(e.TEXTURE0),e.bindTexture(e.TEXTURE_2D,this.texture),e.texImage2D(e.TEXTURE_2D,0,e.RGBA32F,this.textureWidth,this.textureHeight,0,e.RGBA,e.FLOAT,this.data),e.texParameteri(e.TEXTURE_2D,e.TEXTURE_MIN_FILTER,e.NEAREST),e.texParameteri(e.TEXTURE_2D,e.TEXTURE_MAG_FILTER,e.NEAREST),e.texParameteri(e.TEXTURE_2D,e.TEXTURE_WRAP_S,e.CLAMP_TO_EDGE),e.texParameteri(e.TEXTURE_2D,e.TEXTURE_WRAP_T,e.CLAMP_TO_EDGE),e.bindTexture(e.TEXTURE_2D,null)}},{key:"resize",value:function(e){if(!(e<=this.capacity)){var t=this.roundUpToPowerOfTwo(Math.ceil(e*Fh)),r=this.gl,i=this.computeTextureDimensions(t),o=new Float32Array(i.width*i.height*4);o.set(this.data),this.texture&&r.deleteTexture(this.texture),this.data=o,this.capacity=t,this.textureWidth=i.width,this.textureHeight=i.height,this.createTexture(),this.dirty=!0,this.dirtyRangeStart=0,this.dirtyRangeEnd=this.nextIndex}}},{key:"allocate",value:function(e){var t=this.indexMap.get(e);if(t!==void 0)return t;var r;return this.freeIndices.length>0?r=this.freeIndices.pop():(r=this.nextIndex++,r>=this.capacity&&this.resize(r+1)),this.indexMap.set(e,r),r}},{key:"free",value:function(e){var t=this.indexMap.get(e);if(t!==void 0){this.indexMap.delete(e),this.freeIndices.push(t);for(var r=t*this.TEXELS_PER_ITEM*4,i=0;i<this.TEXELS_PER_ITEM*4;i++)this.data[r+i]=0;this.markDirty(t)}}},{key:"getIndex",value:function(e){var t;return(t=this.indexMap.get(e))!==null&&t!==void 0?t:-1}},{key:"has",value:function(e){return this.indexMap.has(e)}},{key:"markDirty",value:function(e){this.dirty=!0,this.dirtyRangeStart=Math.min(this.dirtyRangeStart,e),this.dirtyRangeEnd=Math.max(this.dirtyRangeEnd,e+1)}},{key:"upload",value:function(){if(!(!this.dirty||!this.texture)){var e=this.gl,t=this.textureWidth;e.activeTexture(e.TEXTURE0),e.bindTexture(e.TEXTURE_2D,this.texture);var r=this.dirtyRangeStart*this.TEXELS_PER_ITEM,i=Math.min(this.dirtyRangeEnd*this.TEXELS_PER_ITEM,this.capacity*this.TEXELS_PER_ITEM);if(r<i)for(var o=Math.floor(r/t),s=Math.floor((i-1)/t),l=o;l<=s;l++){var d=l*t,c=Math.min(d+t,this.capacity*this.TEXELS_PER_ITEM),f=Math.max(r,d),p=Math.min(i,c);if(f<p){var h=f-d,v=p-f,y=this.data.subarray(f*4,p*4);e.texSubImage2D(e.TEXTURE_2D,0,h,l,v,1,e.RGBA,e.FLOAT,y)}}e.bindTexture(e.TEXTURE_2D,null),this.dirty=!1,this.dirtyRangeStart=1/0,this.dirtyRangeEnd=-1}}},{key:"bind",value:function(e){var t=this.gl;t.activeTexture(t.TEXTURE0+e),t.bindTexture(t.TEXTURE_2D,this.texture)}},{key:"getTexture",value:function(){return this.texture}},{key:"getCapacity",value:function(){return this.capacity}},{key:"getTextureWidth",value:function(){return this.textureWidth}},{key:"getTextureHeight",value:function(){return this.textureHeight}},{key:"getTexelsPerItem",value:function(){return this.TEXELS_PER_ITEM}},{key:"getCount",value:function(){return this.indexMap.size}},{key:"getHighWaterMark",value:function(){return this.nextIndex}},{key:"isDirty",value:function(){return this.dirty}},{key:"clear",value:function(){this.indexMap.clear(),this.freeIndices=[],this.nextIndex=0,this.data.fill(0),this.dirty=!0,this.dirtyRangeStart=0,this.dirtyRangeEnd=this.capacity}},{key:"restore",value:function(){this.createTexture(),this.dirty=!1,this.dirtyRangeStart=1/0,this.dirtyRangeEnd=-1}},{key:"kill",value:function(){this.texture&&(this.gl.deleteTexture(this.texture),this.texture=null),this.indexMap.clear(),this.freeIndices=[]}}])})();function Be(a){var n={},e={},t=0,r=O(a),i;try{for(r.s();!(i=r.n()).done;){var o=i.value,s=O(o.attributes),l;try{for(s.s();!(l=s.n()).done;){var d=l.value,c=d.name.replace(/^a_/,"");c in n||(n[c]=t,e[c]=d,t+=d.size)}}catch(f){s.e(f)}finally{s.f()}}}catch(f){r.e(f)}finally{r.f()}return{floatsPerItem:t,texelsPerItem:Math.max(1,Math.ceil(t/4)),offsets:n,specs:e}}var Wa=(function(a){function n(e,t,r){var i;return J(this,n),i=he(this,n,[e,t.texelsPerItem,r]),i.floatsPerItem=t.floatsPerItem,i}return fe(n,a),ee(n,[{key:"updateAllAttributes",value:function(t,r){var i=this.indexMap.get(t);i===void 0&&(i=this.allocate(t));for(var o=i*this.TEXELS_PER_ITEM*4,s=Math.min(r.length,this.floatsPerItem),l=0;l<s;l++)this.data[o+l]=r[l];this.markDirty(i)}},{key:"updateAllAttributesAtRow",value:function(t,r){t>=this.capacity&&this.resize(t+1);for(var i=t*this.TEXELS_PER_ITEM*4,o=Math.min(r.length,this.floatsPerItem),s=0;s<o;s++)this.data[i+s]=r[s];this.markDirty(t)}}])})(Oa);function Ba(a,n,e){for(var t=[],r=new Set,i=0;i<a.length;i++){var o=a[i],s=O(o.attributes),l;try{for(s.s();!(l=s.n()).done;){var d=l.value,c=d.name.replace(/^a_/,"");if(!r.has(c)){r.add(c);var f=n.offsets[c];if(f!==void 0){var p=e?.get(i);t.push({sourceKey:d.source||c,packedOffset:f,size:d.size,isColor:d.size===4&&!!d.normalized,defaultNum:typeof d.defaultValue=="number"?d.defaultValue:d.defaultValue===!0?1:0,defaultColor:typeof d.defaultValue=="string"?d.defaultValue:"",sourceIndex:i,hasLifecycleHook:!!(p!=null&&p.getAttributeData)})}}}}catch(h){s.e(h)}finally{s.f()}}return t}function Ua(a,n,e,t,r,i){e.fill(0);for(var o=0,s=a.length;o<s;o++){var l=a[o],d=l.packedOffset,c=void 0;if(l.hasLifecycleHook){var f=r.get(l.sourceIndex-i);c=f.getAttributeData(n,l.sourceKey),c===null&&(c=n[l.sourceKey])}else c=n[l.sourceKey];if(l.isColor){var p=typeof c=="string"?c:l.defaultColor||t,h=ot(p),v=ae(h,4),y=v[0],b=v[1],g=v[2],m=v[3];e[d]=y/255,e[d+1]=b/255,e[d+2]=g/255,e[d+3]=m/255}else if(l.size===1)e[d]=typeof c=="number"?c:typeof c=="boolean"?c?1:0:l.defaultNum;else{var _=Array.isArray(c)?c:null;if(_)for(var x=0;x<l.size;x++){var T;e[d+x]=(T=_[x])!==null&&T!==void 0?T:0}}}}var Pa=["r","g","b","a"];function Ht(a,n){var e=a.offsets,t=a.specs,r=a.texelsPerItem,i=a.floatsPerItem,o=Object.keys(e);if(o.length===0||i===0)return{fetchCode:"",varyingAssignments:""};var s=n.varPrefix,l=n.baseTexelExpr,d=n.textureWidthUniform,c=n.textureSamplerUniform,f=n.outputPrefix,p=f===void 0?"v_":f,h=[];h.push("  int ".concat(s,"BaseTexel = ").concat(l,";")),h.push("");for(var v=0;v<r;v++)h.push("  ivec2 ".concat(s,"Coord").concat(v," = ivec2((").concat(s,"BaseTexel + ").concat(v,") % ").concat(d,", (").concat(s,"BaseTexel + ").concat(v,") / ").concat(d,");")),h.push("  vec4 ".concat(s,"Texel").concat(v," = texelFetch(").concat(c,", ").concat(s,"Coord").concat(v,", 0);"));h.push("");for(var y=[],b=function(){var x=m[g],T=t[x],S=e[x],A=Math.floor(S/4),E=S%4,D="".concat(s,"Texel").concat(A),k="".concat(s,"Texel").concat(A+1),P="".concat(s,"Fetched_").concat(x);if(T.size===1)h.push("  float ".concat(P," = ").concat(D,".").concat(Pa[E],";"));else if(T.size===4&&E===0)h.push("  vec4 ".concat(P," = ").concat(D,";"));else{var R=E+T.size;if(R<=4){var C="vec".concat(T.size),L=Pa.slice(E,R).join("");h.push("  ".concat(C," ").concat(P," = ").concat(D,".").concat(L,";"))}else{var M=T.size===4?"vec4":"vec".concat(T.size),G=Pa.slice(E).map(function(I){return"".concat(D,".").concat(I)}),N=Pa.slice(0,R-4).map(function(I){return"".concat(k,".").concat(I)}),F=[].concat(q(G),q(N)).join(", ");h.push("  ".concat(M," ").concat(P," = ").concat(M,"(").concat(F,");"))}}y.push("  ".concat(p).concat(x," = ").concat(P,";"))},g=0,m=o;g<m.length;g++)b();return{fetchCode:h.join(`
`),varyingAssignments:y.join(`
`)}}function di(a,n,e){if(!(!n||e.type==="sampler2D"))switch(e.type){case"float":a.uniform1f(n,e.value);break;case"int":case"bool":a.uniform1i(n,e.value);break;case"vec2":a.uniform2fv(n,e.value);break;case"vec3":a.uniform3fv(n,e.value);break;case"vec4":a.uniform4fv(n,e.value);break;case"mat3":a.uniformMatrix3fv(n,!1,e.value);break;case"mat4":a.uniformMatrix4fv(n,!1,e.value);break}}var Mh=w(w(w(w(w(w(w(w({},WebGL2RenderingContext.BOOL,1),WebGL2RenderingContext.BYTE,1),WebGL2RenderingContext.UNSIGNED_BYTE,1),WebGL2RenderingContext.SHORT,2),WebGL2RenderingContext.UNSIGNED_SHORT,2),WebGL2RenderingContext.INT,4),WebGL2RenderingContext.UNSIGNED_INT,4),WebGL2RenderingContext.FLOAT,4);function Fa(a){var n=a.match(/^(#version[^\n]*\n)/);return n?n[1]+`#define PICKING_MODE
`+a.slice(n[1].length):`#define PICKING_MODE
`+a}var St=(function(){function a(n,e,t){J(this,a),w(this,"floats",new Float32Array),w(this,"ints",new Uint32Array),w(this,"constantArray",new Float32Array),w(this,"capacity",0),w(this,"verticesCount",0),w(this,"bufferGeneration",0),w(this,"uploadedGeneration",new Map),w(this,"constantBufferGeneration",0),w(this,"uploadedConstantGeneration",new Map),w(this,"renderOffset",0),w(this,"renderCount",-1),w(this,"debugStats",{drawCalls:0,verticesDrawn:0,bufferUploadBytes:0}),w(this,"shadersLogged",!1),w(this,"pickProgram",null);var r=this.getDefinition();if(this.VERTICES=r.VERTICES,this.VERTEX_SHADER_SOURCE=r.VERTEX_SHADER_SOURCE,this.FRAGMENT_SHADER_SOURCE=r.FRAGMENT_SHADER_SOURCE,this.UNIFORMS=r.UNIFORMS,this.ATTRIBUTES=r.ATTRIBUTES,this.METHOD=r.METHOD,this.CONSTANT_ATTRIBUTES="CONSTANT_ATTRIBUTES"in r?r.CONSTANT_ATTRIBUTES:[],this.CONSTANT_DATA="CONSTANT_DATA"in r?r.CONSTANT_DATA:[],this.isInstanced="CONSTANT_ATTRIBUTES"in r,this.ATTRIBUTES_ITEMS_COUNT=ei(this.ATTRIBUTES),this.STRIDE=this.VERTICES*this.ATTRIBUTES_ITEMS_COUNT,this.renderer=t,this.normalProgram=this.getProgramInfo("normal",n,r.VERTEX_SHADER_SOURCE,r.FRAGMENT_SHADER_SOURCE,null),this.pickProgram=this.getProgramInfo("pick",n,Fa(r.VERTEX_SHADER_SOURCE),Fa(r.FRAGMENT_SHADER_SOURCE),null),this.isInstanced){var i=ei(this.CONSTANT_ATTRIBUTES);if(this.CONSTANT_DATA.length!==this.VERTICES)throw new Error("Program: error while getting constant data (expected ".concat(this.VERTICES," items, received ").concat(this.CONSTANT_DATA.length," instead)"));this.constantArray=new Float32Array(this.CONSTANT_DATA.length*i);for(var o=0;o<this.CONSTANT_DATA.length;o++){var s=this.CONSTANT_DATA[o];if(s.length!==i)throw new Error("Program: error while getting constant data (one vector has ".concat(s.length," items instead of ").concat(i,")"));for(var l=0;l<s.length;l++)this.constantArray[o*i+l]=s[l]}this.STRIDE=this.ATTRIBUTES_ITEMS_COUNT}}return ee(a,[{key:"kill",value:function(){Ns(this.normalProgram),this.pickProgram&&Ns(this.pickProgram)}},{key:"resetDebugStats",value:function(){this.debugStats.drawCalls=0,this.debugStats.verticesDrawn=0,this.debugStats.bufferUploadBytes=0}},{key:"getProgramInfo",value:function(e,t,r,i,o){var s=t.createBuffer();if(s===null)throw new Error("Program: error while creating the WebGL buffer.");var l=ni(t,r),d=ai(t,i),c=ri(t,[l,d]),f={};this.UNIFORMS.forEach(function(v){var y=t.getUniformLocation(c,v);y&&(f[v]=y)});var p={};this.ATTRIBUTES.forEach(function(v){p[v.name]=t.getAttribLocation(c,v.name)});var h;if(this.isInstanced&&(this.CONSTANT_ATTRIBUTES.forEach(function(v){p[v.name]=t.getAttribLocation(c,v.name)}),h=t.createBuffer(),h===null))throw new Error("Program: error while creating the WebGL constant buffer.");return{name:e,program:c,gl:t,frameBuffer:o,buffer:s,constantBuffer:h||{},uniformLocations:f,attributeLocations:p,isPicking:e==="pick",vertexShader:l,fragmentShader:d}}},{key:"bindProgram",value:function(e){var t=this,r=0,i=e.gl,o=e.buffer;if(this.isInstanced){if(i.bindBuffer(i.ARRAY_BUFFER,e.constantBuffer),r=0,this.CONSTANT_ATTRIBUTES.forEach(function(c){return r+=t.bindAttribute(c,e,r,!1)}),this.uploadedConstantGeneration.get(e.constantBuffer)!==this.constantBufferGeneration){var l;i.bufferData(i.ARRAY_BUFFER,this.constantArray,i.STATIC_DRAW),this.uploadedConstantGeneration.set(e.constantBuffer,this.constantBufferGeneration),(l=this.renderer)!==null&&l!==void 0&&l.getSetting("DEBUG_logRenderStats")&&(this.debugStats.bufferUploadBytes+=this.constantArray.byteLength)}if(i.bindBuffer(i.ARRAY_BUFFER,e.buffer),r=this.renderOffset*this.ATTRIBUTES_ITEMS_COUNT*Float32Array.BYTES_PER_ELEMENT,this.ATTRIBUTES.forEach(function(c){return r+=t.bindAttribute(c,e,r,!0)}),this.uploadedGeneration.get(o)!==this.bufferGeneration){var d;i.bufferData(i.ARRAY_BUFFER,this.floats,i.DYNAMIC_DRAW),this.uploadedGeneration.set(o,this.bufferGeneration),(d=this.renderer)!==null&&d!==void 0&&d.getSetting("DEBUG_logRenderStats")&&(this.debugStats.bufferUploadBytes+=this.floats.byteLength)}}else if(i.bindBuffer(i.ARRAY_BUFFER,o),r=0,this.ATTRIBUTES.forEach(function(c){return r+=t.bindAttribute(c,e,r)}),this.uploadedGeneration.get(o)!==this.bufferGeneration){var s;i.bufferData(i.ARRAY_BUFFER,this.floats,i.DYNAMIC_DRAW),this.uploadedGeneration.set(o,this.bufferGeneration),(s=this.renderer)!==null&&s!==void 0&&s.getSetting("DEBUG_logRenderStats")&&(this.debugStats.bufferUploadBytes+=this.floats.byteLength)}i.bindBuffer(i.ARRAY_BUFFER,null)}},{key:"unbindProgram",value:function(e){var t=this;this.isInstanced?(this.CONSTANT_ATTRIBUTES.forEach(function(r){return t.unbindAttribute(r,e,!1)}),this.ATTRIBUTES.forEach(function(r){return t.unbindAttribute(r,e,!0)})):this.ATTRIBUTES.forEach(function(r){return t.unbindAttribute(r,e)})}},{key:"bindAttribute",value:function(e,t,r,i){var o=Mh[e.type];if(typeof o!="number")throw new Error('Program.bind: yet unsupported attribute type "'.concat(e.type,'"'));var s=t.attributeLocations[e.name],l=t.gl;if(s!==-1){l.enableVertexAttribArray(s);var d=this.isInstanced?(i?this.ATTRIBUTES_ITEMS_COUNT:ei(this.CONSTANT_ATTRIBUTES))*Float32Array.BYTES_PER_ELEMENT:this.ATTRIBUTES_ITEMS_COUNT*Float32Array.BYTES_PER_ELEMENT;l.vertexAttribPointer(s,e.size,e.type,e.normalized||!1,d,r),this.isInstanced&&i&&l.vertexAttribDivisor(s,1)}return e.size*o}},{key:"unbindAttribute",value:function(e,t,r){var i=t.attributeLocations[e.name],o=t.gl;i!==-1&&(o.disableVertexAttribArray(i),this.isInstanced&&r&&o.vertexAttribDivisor(i,0))}},{key:"reallocate",value:function(e){e!==this.capacity&&(this.capacity=e,this.verticesCount=this.VERTICES*e,this.floats=new Float32Array(this.isInstanced?this.capacity*this.ATTRIBUTES_ITEMS_COUNT:this.verticesCount*this.ATTRIBUTES_ITEMS_COUNT),this.ints=new Uint32Array(this.floats.buffer),this.invalidateBuffers())}},{key:"invalidateBuffers",value:function(){this.bufferGeneration++,this.constantBufferGeneration++}},{key:"hasNothingToRender",value:function(){return this.verticesCount===0}},{key:"setTypedUniform",value:function(e,t){var r;di(t.gl,(r=t.uniformLocations[e.name])!==null&&r!==void 0?r:null,e)}},{key:"renderProgram",value:function(e,t){var r=t.gl,i=t.program,o=t.isPicking;o?r.disable(r.BLEND):r.enable(r.BLEND),r.useProgram(i),this.setUniforms(e,t),this.drawWebGL(this.METHOD,t)}},{key:"render",value:function(e,t,r){var i;if(!this.shadersLogged&&(i=this.renderer)!==null&&i!==void 0&&i.getSetting("DEBUG_logShaders")&&(this.shadersLogged=!0,console.log("[sigma] DEBUG_logShaders: ".concat(this.constructor.name),{normal:{vertexShaderSource:this.VERTEX_SHADER_SOURCE,fragmentShaderSource:this.FRAGMENT_SHADER_SOURCE},pick:{vertexShaderSource:Fa(this.VERTEX_SHADER_SOURCE),fragmentShaderSource:Fa(this.FRAGMENT_SHADER_SOURCE)}})),!this.hasNothingToRender()){this.renderOffset=t??0,this.renderCount=r??-1;var o=this.normalProgram.gl;if(o.bindFramebuffer(o.FRAMEBUFFER,null),o.viewport(0,0,e.width*e.pixelRatio,e.height*e.pixelRatio),this.bindProgram(this.normalProgram),this.renderProgram(e,this.normalProgram),this.unbindProgram(this.normalProgram),this.pickProgram&&e.pickingFrameBuffer){var s=Math.ceil(e.width*e.pixelRatio/e.downSizingRatio),l=Math.ceil(e.height*e.pixelRatio/e.downSizingRatio);o.bindFramebuffer(o.FRAMEBUFFER,e.pickingFrameBuffer),o.viewport(0,0,s,l),this.bindProgram(this.pickProgram),this.renderProgram(e,this.pickProgram),this.unbindProgram(this.pickProgram),o.bindFramebuffer(o.FRAMEBUFFER,null),o.viewport(0,0,e.width*e.pixelRatio,e.height*e.pixelRatio)}}}},{key:"drawWebGL",value:function(e,t){var r,i=t.gl,o=this.renderCount>=0?this.renderCount:this.capacity;(r=this.renderer)!==null&&r!==void 0&&r.getSetting("DEBUG_logRenderStats")&&(this.debugStats.drawCalls++,this.debugStats.verticesDrawn+=o*this.VERTICES),this.isInstanced?i.drawArraysInstanced(e,0,this.VERTICES,o):i.drawArrays(e,this.renderOffset*this.VERTICES,o*this.VERTICES)}}])})(),ut=2,Cn=7,el={below:0,above:1,left:2,right:3};function Nh(){var a=`#version 300 es
precision highp float;

uniform mat3 u_matrix;
uniform vec2 u_resolution;
uniform float u_labelPixelSnapping;
uniform float u_sizeRatio;
uniform float u_correctionRatio;
uniform float u_cameraAngle;
uniform float u_pixelRatio;
uniform float u_labelMargin;
uniform float u_zoomLabelSizeRatio;

uniform sampler2D u_nodeDataTexture;
uniform int u_nodeDataTextureWidth;
uniform sampler2D u_nodeFrameTexture;
uniform int u_nodeFrameTextureWidth;

// Atlas size is fixed at 2048×2048 — matches AttachmentManager.ATLAS_SIZE.
uniform sampler2D u_atlasTexture;
const vec2 u_atlasSize = vec2(2048.0);

// Per-instance
in float a_nodeIndex;           // node-data texture index
in vec4 a_atlasRect;            // x, y, width, height in atlas pixels
in vec2 a_attachmentSize;       // attachment dimensions (CSS px)
in float a_positionMode;        // label position: 0=right 1=left 2=above 3=below 4=over
in float a_attachmentPlacement; // 0=below 1=above 2=left 3=right (relative to label)
in float a_labelWidth;          // label width (CSS px)
in float a_labelHeight;         // label height: font line box (CSS px)
in float a_textHeight;          // actual glyph height (CSS px)
in float a_labelAngle;          // label rotation angle (radians)

// Per-vertex (constant)
in vec2 a_quadCorner;           // [-1,-1], [1,-1], [-1,1], [1,1]

out vec2 v_texCoord;

`.concat(tt,`
`).concat(Tt,`
`).concat(Xt,`
`).concat(Qs,`
`).concat(si,`

void main() {
  int nodeIdx = int(a_nodeIndex);

  // Node data: (x, y, size, shapeId).
  vec4 nodeData = readNodeData(u_nodeDataTexture, u_nodeDataTextureWidth, nodeIdx);
  vec2 nodePos = nodeData.xy;
  float nodeSize = nodeData.z;

  // Normalized edge distance from the shared frame texture (the frame-pass ran
  // the SDF search once; we just read the result).
  float edgeDist = readFrameTexel(u_nodeFrameTexture, u_nodeFrameTextureWidth, nodeIdx).r;

  // Per-node label rotation alignment: 0 = viewport, 1 = label turns with camera.
  float labelRotation = readNodeFlags(u_nodeDataTexture, u_nodeDataTextureWidth, nodeIdx).g;

  vec3 nodeClip = u_matrix * vec3(nodePos, 1.0);

  // Node radius in physical pixels (matches label/background).
  float matrixScaleX = length(vec2(u_matrix[0][0], u_matrix[1][0]));
  float nodeRadiusGraphSpace = nodeSize * u_correctionRatio / u_sizeRatio * 2.0;
  float nodeRadiusPixels = nodeRadiusGraphSpace * matrixScaleX * u_resolution.x / 2.0;

  // CSS-px inputs -> physical px, scaled by the zoom-dependent label ratio, so
  // the attachment stays glued to the label box exactly as the label scales.
  float zoomScale = u_zoomLabelSizeRatio;
  vec2 labelHalf = vec2(a_labelWidth, a_labelHeight) * 0.5 * zoomScale * u_pixelRatio;
  vec2 attachHalf = a_attachmentSize * 0.5 * zoomScale * u_pixelRatio;
  float gap = `).concat(ut.toFixed(1),` * zoomScale * u_pixelRatio;
  float labelMargin = u_labelMargin * zoomScale * u_pixelRatio;

  // Graph-aligned labels add the camera angle so the attachment orbits with the box.
  mat2 labelRotMat = rotate2D(a_labelAngle - labelRotation * u_cameraAngle);

  // Label box center relative to the node center (pre-rotation). The shape-aware
  // edge distance comes from the frame texture, so placement matches the label.
  vec2 boxCenter = vec2(0.0);
  if (a_positionMode < 4.0) {
    float labelStart = nodeRadiusPixels * edgeDist + labelMargin;
    float textHalf = a_textHeight * 0.5 * zoomScale * u_pixelRatio;
    boxCenter = labelBoxCenter(a_positionMode, labelStart, labelHalf, textHalf);
  }

  // Horizontal anchor of below/above attachments tracks the label position, so
  // the attachment hangs from the label edge nearest the node (or is centered
  // when the label itself is node-centered): right->left, left->right, else center.
  float anchorX = 0.0;
  if (a_positionMode < 0.5) anchorX = -labelHalf.x + attachHalf.x;       // right label
  else if (a_positionMode < 1.5) anchorX = labelHalf.x - attachHalf.x;   // left label

  // Attachment center relative to the box (pre-rotation, Y-down). This offset
  // depends only on the box, the gap and the attachment size — never the shape.
  vec2 attachCenter;
  if (a_attachmentPlacement < 0.5) {
    // below
    attachCenter = boxCenter + vec2(anchorX, labelHalf.y + gap + attachHalf.y);
  } else if (a_attachmentPlacement < 1.5) {
    // above
    attachCenter = boxCenter + vec2(anchorX, -(labelHalf.y + gap + attachHalf.y));
  } else if (a_attachmentPlacement < 2.5) {
    // left, top-aligned
    attachCenter = boxCenter + vec2(-(labelHalf.x + gap + attachHalf.x), -labelHalf.y + attachHalf.y);
  } else {
    // right, top-aligned
    attachCenter = boxCenter + vec2(labelHalf.x + gap + attachHalf.x, -labelHalf.y + attachHalf.y);
  }

  // Rotate the whole assembly by the label angle, around the node center.
  vec2 rotatedCenter = labelRotMat * attachCenter;
  vec2 cornerOffset = labelRotMat * (a_quadCorner * attachHalf);

  // Node center in screen px (Y-down).
  vec2 nodeScreen = vec2(
    (nodeClip.x + 1.0) * u_resolution.x,
    (1.0 - nodeClip.y) * u_resolution.y
  ) * 0.5;

  // Snap node center to the pixel grid so label/backdrop/attachment move as one.
  vec2 snapDelta = (round(nodeScreen) - nodeScreen) * u_labelPixelSnapping;

  // Snap the quad's top-left to integer pixels so atlas texels map 1:1.
  vec2 centerScreen = nodeScreen + rotatedCenter + snapDelta;
  vec2 topLeft = centerScreen - attachHalf;
  topLeft = mix(topLeft, round(topLeft), u_labelPixelSnapping);
  centerScreen = topLeft + attachHalf;

  vec2 vertexScreen = centerScreen + cornerOffset;
  gl_Position = vec4(
    vertexScreen.x * 2.0 / u_resolution.x - 1.0,
    1.0 - vertexScreen.y * 2.0 / u_resolution.y,
    0.0, 1.0
  );

  vec2 texOrigin = a_atlasRect.xy / u_atlasSize;
  vec2 texSize = a_atlasRect.zw / u_atlasSize;
  vec2 uv = (a_quadCorner + 1.0) / 2.0;
  v_texCoord = texOrigin + uv * texSize;
}
`);return a}var Gh=`#version 300 es
precision highp float;

uniform sampler2D u_atlasTexture;

in vec2 v_texCoord;

layout(location = 0) out vec4 fragColor;
#ifdef PICKING_MODE
layout(location = 1) out vec4 pickColor;
#endif

void main() {
  // Canvas textures are premultiplied; output directly for (ONE, 1-SRC_ALPHA) blending
  vec4 color = texture(u_atlasTexture, v_texCoord);
  if (color.a < 0.01) discard;
  fragColor = color;
#ifdef PICKING_MODE
  pickColor = vec4(0.0); // Attachments are not pickable
#endif
}
`;function zh(a,n,e,t){var r,i,o=t.label,s=o===void 0?{}:o,l=(r=s.margin)!==null&&r!==void 0?r:Vt,d=(i=s.zoomToLabelSizeRatioFunction)!==null&&i!==void 0?i:function(){return 1},c=Nh(),f=Gh,p=(function(h){function v(){var y;J(this,v);for(var b=arguments.length,g=new Array(b),m=0;m<b;m++)g[m]=arguments[m];return y=he(this,v,[].concat(g)),w(y,"totalCount",0),w(y,"bufferCapacity",0),y}return fe(v,h),ee(v,[{key:"getDefinition",value:function(){var b=WebGL2RenderingContext,g=b.FLOAT,m=b.TRIANGLE_STRIP;return{VERTICES:4,VERTEX_SHADER_SOURCE:c,FRAGMENT_SHADER_SOURCE:f,METHOD:m,UNIFORMS:["u_matrix","u_resolution","u_labelPixelSnapping","u_sizeRatio","u_correctionRatio","u_cameraAngle","u_pixelRatio","u_labelMargin","u_zoomLabelSizeRatio","u_nodeDataTexture","u_nodeDataTextureWidth","u_nodeFrameTexture","u_nodeFrameTextureWidth","u_atlasTexture"],ATTRIBUTES:[{name:"a_nodeIndex",size:1,type:g},{name:"a_atlasRect",size:4,type:g},{name:"a_attachmentSize",size:2,type:g},{name:"a_positionMode",size:1,type:g},{name:"a_attachmentPlacement",size:1,type:g},{name:"a_labelWidth",size:1,type:g},{name:"a_labelHeight",size:1,type:g},{name:"a_textHeight",size:1,type:g},{name:"a_labelAngle",size:1,type:g}],CONSTANT_ATTRIBUTES:[{name:"a_quadCorner",size:2,type:g}],CONSTANT_DATA:[[-1,-1],[1,-1],[-1,1],[1,1]]}}},{key:"processAttachment",value:function(b,g){var m=this.floats,_=b*this.STRIDE;m[_++]=g.nodeIndex,m[_++]=g.atlasX,m[_++]=g.atlasY,m[_++]=g.atlasW,m[_++]=g.atlasH,m[_++]=g.attachWidth,m[_++]=g.attachHeight,m[_++]=g.positionMode,m[_++]=g.attachmentPlacement,m[_++]=g.labelWidth,m[_++]=g.labelHeight,m[_++]=g.textHeight,m[_++]=g.labelAngle}},{key:"setUniforms",value:function(b,g){var m=g.gl,_=g.uniformLocations;m.uniformMatrix3fv(_.u_matrix,!1,b.matrix),m.uniform2f(_.u_resolution,b.width*b.pixelRatio,b.height*b.pixelRatio),m.uniform1f(_.u_labelPixelSnapping,b.labelPixelSnapping),m.uniform1f(_.u_sizeRatio,b.sizeRatio),m.uniform1f(_.u_correctionRatio,b.correctionRatio),m.uniform1f(_.u_cameraAngle,b.cameraAngle),m.uniform1f(_.u_pixelRatio,b.pixelRatio),m.uniform1f(_.u_labelMargin,v.labelMargin),m.uniform1f(_.u_zoomLabelSizeRatio,1/d(b.zoomRatio)),m.uniform1i(_.u_nodeDataTexture,b.nodeDataTextureUnit),m.uniform1i(_.u_nodeDataTextureWidth,b.nodeDataTextureWidth),m.uniform1i(_.u_nodeFrameTexture,b.nodeFrameTextureUnit),m.uniform1i(_.u_nodeFrameTextureWidth,b.nodeFrameTextureWidth),m.uniform1i(_.u_atlasTexture,Cn)}},{key:"reallocateAttachments",value:function(b){this.totalCount=b,b>this.bufferCapacity&&(this.bufferCapacity=Math.max(b,Math.ceil(this.bufferCapacity*1.5)||10),ye(v,"reallocate",this,3)([this.bufferCapacity]))}},{key:"hasNothingToRender",value:function(){return this.totalCount===0}},{key:"drawWebGL",value:function(b,g){var m=g.gl;this.totalCount!==0&&m.drawArraysInstanced(b,0,this.VERTICES,this.totalCount)}}])})(St);return w(p,"labelMargin",l),new p(a,n,e)}var lt=5;function Ha(a,n){return[].concat(q(n),q(a.map(function(e){var t;return{attributes:(t=e.attributes)!==null&&t!==void 0?t:[]}})))}function jt(a,n){var e=Be(Ha(a,n)),t=new Set(a.flatMap(function(d){var c;return(c=d.attributes)!==null&&c!==void 0?c:[]}).map(function(d){return d.name.replace(/^a_/,"")})),r={},i={},o=O(t),s;try{for(o.s();!(s=o.n()).done;){var l=s.value;r[l]=e.offsets[l],i[l]=e.specs[l]}}catch(d){o.e(d)}finally{o.f()}return W(W({},e),{},{offsets:r,specs:i})}function Oh(a,n){var e=new Set(["u_matrix","u_sizeRatio","u_correctionRatio","u_cameraAngle","u_pickingPadding","u_nodeDataTexture","u_layerAttributeTexture"]),t=new Set,r=a.flatMap(function(h){return h.uniforms}).filter(function(h){return e.has(h.name)||t.has(h.name)?!1:(t.add(h.name),!0)}).map(function(h){return"uniform ".concat(h.type," ").concat(h.name,";")}).join(`
`),i=n.flatMap(function(h){return h.uniforms}).filter(function(h){return e.has(h.name)||t.has(h.name)?!1:(t.add(h.name),!0)}).map(function(h){return"uniform ".concat(h.type," ").concat(h.name,";")}).join(`
`),o=Ha(a,n),s=new Set,l=o.flatMap(function(h){return h.attributes}).filter(function(h){var v=h.name.replace(/^a_/,"");return s.has(v)?!1:(s.add(v),!0)}).map(function(h){var v=h.name.replace(/^a_/,""),y=h.size===1?"float":"vec".concat(h.size);return"out ".concat(y," v_").concat(v,";")}).join(`
`),d=Ht(Be(o),{varPrefix:"layer",baseTexelExpr:"nodeIdx * u_layerAttributeTexelsPerNode",textureWidthUniform:"u_layerAttributeTextureWidth",textureSamplerUniform:"u_layerAttributeTexture"}),c=d.fetchCode,f=d.varyingAssignments,p=`#version 300 es

// Standard node attributes (per instance) - minimal buffer usage
in float a_nodeIndex;  // Index into node data texture AND layer attribute texture
in vec4 a_id;          // Node ID for picking
in float a_opacity;    // Node opacity, applied once to the final fragment

// Constant attributes (per vertex, same for all instances)
in vec2 a_quadCorner;  // (-1,-1), (1,-1), (1,1), (-1,1) for quad corners

// Standard uniforms
uniform mat3 u_matrix;
uniform float u_sizeRatio;
uniform float u_correctionRatio;
uniform float u_cameraAngle;
#ifdef PICKING_MODE
uniform float u_pickingPadding;
#endif
uniform sampler2D u_nodeDataTexture;
uniform int u_nodeDataTextureWidth;

// Layer attribute texture uniforms
uniform sampler2D u_layerAttributeTexture;
uniform int u_layerAttributeTextureWidth;
uniform int u_layerAttributeTexelsPerNode;

`.concat(r,`
`).concat(i,`

// Standard varyings
out vec2 v_uv;                    // Normalized coordinates [-1, 1]
out vec4 v_id;
out float v_opacity;
out float v_antialiasingWidth;    // Width for antialiasing in UV space
out float v_pixelSize;            // Node size in pixels (for pixel-mode borders)
out float v_pixelToUV;            // Conversion factor: multiply by this to convert screen pixels to UV units
out float v_shapeId;              // Shape ID for multi-shape programs

// Layer varyings
`).concat(l,`

// Node-data fetch helpers (geometry texel + rotation-flags texel)
`).concat(tt,`
`).concat(Tt,`

void main() {
  // Fetch node geometry: vec4(x, y, size, shapeId).
  int nodeIdx = int(a_nodeIndex);

  // Hidden nodes are flagged with a negative row by NodeProgram.process(). Push
  // the whole quad outside the clip volume: every vertex lands at the same
  // out-of-range position, so the primitive is fully clipped and rasterizes
  // nothing — neither to the frame buffer nor to the picking buffer.
  if (nodeIdx < 0) {
    gl_Position = vec4(2.0, 0.0, 0.0, 1.0);
    v_id = vec4(0.0);
    return;
  }

  vec4 nodeData = readNodeData(u_nodeDataTexture, u_nodeDataTextureWidth, nodeIdx);
  vec2 a_position = nodeData.xy;
  float a_size = nodeData.z;
  v_shapeId = nodeData.w;  // Pass shape ID to fragment shader

  // Per-node rotation alignment: 0 = viewport (screen-upright), 1 = graph.
  float nodeRotation = readNodeFlags(u_nodeDataTexture, u_nodeDataTextureWidth, nodeIdx).r;

`).concat(c,`

  // Calculate the actual size in pixels
  float size = a_size * u_correctionRatio / u_sizeRatio * 2.0;

  // In PICKING_MODE, inflate the quad by nodePickingPadding pixels on each side
  #ifdef PICKING_MODE
    float paddedSize = size + u_pickingPadding * u_correctionRatio;
    vec2 offset = a_quadCorner * paddedSize;
  #else
    vec2 offset = a_quadCorner * size;
  #endif
  // Counter-rotate the quad offset so viewport-aligned nodes stay upright as the
  // camera turns. Graph-aligned nodes (nodeRotation=1) skip it and turn with the
  // camera. The angle scales by (1 - nodeRotation) so both fall out of one path.
  {
    float ca = u_cameraAngle * (1.0 - nodeRotation);
    float c = cos(ca);
    float s = sin(ca);
    offset = mat2(c, s, -s, c) * offset;
  }
  vec2 position = a_position + offset;

  gl_Position = vec4(
    (u_matrix * vec3(position, 1)).xy,
    0,
    1
  );

  // In PICKING_MODE, UV is scaled beyond [-1, 1] to match the inflated quad
  #ifdef PICKING_MODE
    v_uv = a_quadCorner * (paddedSize / size);
  #else
    v_uv = a_quadCorner;
  #endif

  // Pass ID to fragment shader
  v_id = a_id;
  v_opacity = a_opacity;

  // Pass pixel size for layers that need pixel-mode calculations
  // Multiply by 2 because 'size' is half-width (offset from center), not full diameter
  v_pixelSize = size * 2.0;

  // Conversion factor from screen pixels to UV units
  // Same derivation as v_antialiasingWidth which represents ~1 pixel in UV space
  // P pixels in UV space = P * u_correctionRatio / size
  v_pixelToUV = u_correctionRatio / size;

  // We use an antialiasing width of 1px (so v_pixelToUV)
  v_antialiasingWidth = v_pixelToUV;

  // Pass layer attributes to fragment shader (fetched from texture)
`).concat(f,`
}
`);return p}function Wh(a,n,e){var t=arguments.length>3&&arguments[3]!==void 0?arguments[3]:!0,r=n.map(function(v,y){var b="layer_".concat(v.name),g=[].concat(q(v.attributes.map(function(m){return"v_".concat(m.name.replace(/^a_/,""))})),q(v.uniforms.map(function(m){return m.name}))).join(", ");return"  // Layer ".concat(y+1,": ").concat(v.name,`
  color = blendOver(color, `).concat(b,"(").concat(g,"));")}).join(`

`),i=new Set(["u_correctionRatio"]),o=new Set,s=a.flatMap(function(v){return v.uniforms}).filter(function(v){return i.has(v.name)||o.has(v.name)?!1:(o.add(v.name),!0)}).map(function(v){return"uniform ".concat(v.type," ").concat(v.name,";")}).join(`
`),l=n.flatMap(function(v){return v.uniforms}).filter(function(v){return i.has(v.name)||o.has(v.name)?!1:(o.add(v.name),!0)}).map(function(v){return"uniform ".concat(v.type," ").concat(v.name,";")}).join(`
`),d=new Set,c=Ha(a,n).flatMap(function(v){return v.attributes}).filter(function(v){var y=v.name.replace(/^a_/,"");return d.has(y)?!1:(d.add(y),!0)}).map(function(v){var y=v.name.replace(/^a_/,""),b=v.size===1?"float":"vec".concat(v.size);return"in ".concat(b," v_").concat(y,";")}).join(`
`),f=ii(a),p=Eh(a,e),h=`#version 300 es
precision highp float;

// Standard varyings
in vec2 v_uv;
in vec4 v_id;
in float v_opacity;
in float v_antialiasingWidth;
in float v_pixelSize;
in float v_pixelToUV;
in float v_shapeId;  // Shape ID for multi-shape programs

// Standard uniforms (needed for some layer calculations like pixel-mode borders)
uniform float u_correctionRatio;
#ifdef PICKING_MODE
uniform float u_pickingPadding;
#endif

// Shape uniforms
`.concat(s,`

// Layer uniforms
`).concat(l,`

// Layer varyings
`).concat(c,`

// Fragment output (single target - picking handled via separate pass)
out vec4 fragColor;

// LayerContext struct - provides rendering context to all layers
struct LayerContext {
  float sdf;             // Signed distance from shape boundary (negative inside)
  vec2 uv;               // UV coordinates [-1, 1], center at (0,0)
  float shapeSize;       // Effective shape size (~diameter) in UV space (1.0 - aaWidth)
  float shapeHalfSize;   // Effective shape half size (~radius) in UV space
  float pixelSize;       // Node full size (~diameter) in screen pixels
  float aaWidth;         // Anti-aliasing width for smooth transitions
  float correctionRatio; // Scaling factor for consistent rendering across zoom levels
  float pixelToUV;       // Conversion factor: multiply screen pixels by this to get UV units
  float inradiusFactor;  // Ratio of inradius to circumradius (shape depth factor)
};

LayerContext context;  // Global instance, populated before layer calls

// Alpha "over" compositing for layer blending
vec4 blendOver(vec4 bg, vec4 fg) {
  float a = fg.a;
  return vec4(mix(bg.rgb, fg.rgb, a), bg.a + a * (1.0 - bg.a));
}

// SDF shape functions
`).concat(f,`

// Shape selector function (sets context.sdf and context.inradiusFactor)
`).concat(p,`

// Layer functions
`).concat(n.map(function(v){return v.glsl}).join(`

`),`

void main() {
  // 1. Setup LayerContext (available to all layer functions)
  context.shapeSize = 1.0 - v_antialiasingWidth;
  context.shapeHalfSize = context.shapeSize * 0.5;
  context.pixelSize = v_pixelSize;
  context.uv = v_uv;
  context.aaWidth = v_antialiasingWidth;
  context.correctionRatio = u_correctionRatio;
  context.pixelToUV = v_pixelToUV;

  // Query shape SDF based on shapeId (sets context.sdf and context.inradiusFactor)
  queryNodeSDF(int(v_shapeId), v_uv, context.shapeSize);

  // 2. Early discard for pixels fully outside the shape (with AA margin)
  // In PICKING_MODE, allow extra fragments up to the picking padding distance
  #ifdef PICKING_MODE
    if (context.sdf > u_pickingPadding * v_pixelToUV + context.aaWidth) discard;
  #else
    if (context.sdf > context.aaWidth) discard;
  #endif

  // 3. Apply layers sequentially with "over" compositing
  vec4 color = vec4(0.0);

`).concat(r,`

  #ifdef PICKING_MODE
    // Picking pass: output node ID for pixels within the picking area.
    if (context.sdf > u_pickingPadding * v_pixelToUV) discard;
    fragColor = v_id;
  #else
`).concat(t?`    // Visual pass: apply antialiasing at shape boundary, node opacity once
    // smoothstep provides smooth transition from opaque to transparent
    float alpha = smoothstep(context.aaWidth, -context.aaWidth, context.sdf) * v_opacity;`:`    // Visual pass: hard-edged (no anti-aliasing gradient) shape boundary, node opacity applied once
    float alpha = (context.sdf < 0.0 ? 1.0 : 0.0) * v_opacity;`,`
    // Mix with transparent to fade both color AND alpha together (avoids bright halo)
    fragColor = mix(vec4(0.0), color, alpha);
  #endif
}
`);return h}function Bh(a,n){var e=new Set;return e.add("u_matrix"),e.add("u_sizeRatio"),e.add("u_correctionRatio"),e.add("u_cameraAngle"),e.add("u_pickingPadding"),e.add("u_nodeDataTexture"),e.add("u_nodeDataTextureWidth"),e.add("u_layerAttributeTexture"),e.add("u_layerAttributeTextureWidth"),e.add("u_layerAttributeTexelsPerNode"),a.forEach(function(t){t.uniforms.forEach(function(r){return e.add(r.name)})}),n.forEach(function(t){t.uniforms.forEach(function(r){return e.add(r.name)})}),Array.from(e)}function Uh(a){var n=WebGL2RenderingContext,e=n.UNSIGNED_BYTE,t=n.FLOAT;return[{name:"a_nodeIndex",size:1,type:t},{name:"a_id",size:4,type:e,normalized:!0},{name:"a_opacity",size:1,type:t}]}function zs(a){var n=a.shapes,e=a.layers,t=a.shapeGlobalIds,r=a.antialias,i=r===void 0?!0:r;return{vertexShader:Oh(n,e),fragmentShader:Wh(n,e,t,i),uniforms:Bh(n,e),attributes:Uh()}}function tl(a,n,e){var t=jt(a,n),r=t.specs;return Object.keys(r).map(function(i){return"flat ".concat(e," ").concat(r[i].size===1?"float":"vec".concat(r[i].size)," v_").concat(i,";")}).join(`
`)}function Hh(a){var n,e,t=a.shapes,r=a.layers,i=a.shapeGlobalIds,o=Ht(jt(t,r),{varPrefix:"nodeAttr",baseTexelExpr:"nodeIdx * u_layerAttributeTexelsPerNode",textureWidthUniform:"u_layerAttributeTextureWidth",textureSamplerUniform:"u_layerAttributeTexture"}),s=t.length===1?"float inradiusFactor = ".concat(pe((n=t[0].inradiusFactor)!==null&&n!==void 0?n:1),";"):"float inradiusFactor = ".concat(pe((e=t[0].inradiusFactor)!==null&&e!==void 0?e:1),`;
  switch (int(shapeId)) {
`).concat(t.map(function(d,c){var f,p=i?i[c]:c;return"    case ".concat(p,": inradiusFactor = ").concat(pe((f=d.inradiusFactor)!==null&&f!==void 0?f:1),"; break;")}).join(`
`),`
    default: break;
  }`),l=`#version 300 es

in float a_nodeIndex;
in float a_labelWidth;
in float a_labelHeight;
in float a_textHeight;
in float a_positionMode;
in float a_labelAngle;
in vec4 a_backdropColor;
in vec4 a_backdropShadowColor;
in float a_backdropShadowBlur;
in float a_backdropPadding;
in vec4 a_backdropBorderColor;
in vec4 a_backdropExtra; // [borderWidth, cornerRadius, labelPadding, area]
in vec2 a_labelBoxOffset;
in vec2 a_quadCorner;

uniform mat3 u_matrix;
uniform float u_sizeRatio;
uniform float u_correctionRatio;
uniform float u_cameraAngle;
uniform vec2 u_resolution;
uniform float u_pixelRatio;
uniform float u_labelMargin;
uniform float u_zoomLabelSizeRatio;
uniform float u_labelPixelSnapping;
uniform sampler2D u_nodeDataTexture;
uniform int u_nodeDataTextureWidth;
uniform sampler2D u_nodeFrameTexture;
uniform int u_nodeFrameTextureWidth;
uniform sampler2D u_layerAttributeTexture;
uniform int u_layerAttributeTextureWidth;
uniform int u_layerAttributeTexelsPerNode;

out vec2 v_uv;
out vec2 v_nodeCenter;
out float v_nodeRadius;
out vec2 v_labelCenter;
out vec2 v_labelHalfSize;
out float v_aaWidth;
out float v_shapeId;
out float v_nodeRotation;
out float v_labelAngle;
out vec4 v_backdropColor;
out vec4 v_backdropShadowColor;
out float v_backdropShadowBlur;
out float v_backdropPadding;
out vec4 v_backdropBorderColor;
out float v_backdropBorderWidth;
out float v_backdropCornerRadius;
out float v_backdropArea;
`.concat(tl(t,r,"out"),`

`).concat(tt,`
`).concat(Tt,`
`).concat(Xt,`

void main() {
  int nodeIdx = int(a_nodeIndex);
`).concat(o.fetchCode,`
`).concat(o.varyingAssignments,`

  // Node data: (x, y, size, shapeId). shapeId (global) is forwarded to the
  // fragment shader, which keeps the shape SDF for the outline.
  vec4 nodeData = readNodeData(u_nodeDataTexture, u_nodeDataTextureWidth, nodeIdx);
  vec2 nodePosition = nodeData.xy;
  float nodeSize = nodeData.z;
  float shapeId = nodeData.w;

  // Per-node rotation alignment (0 = viewport, 1 = graph). nodeRotation drives
  // the fragment's shape outline; labelRotation turns the label box with camera.
  vec4 nodeFlags = readNodeFlags(u_nodeDataTexture, u_nodeDataTextureWidth, nodeIdx);
  float nodeRotation = nodeFlags.r;
  float labelRotation = nodeFlags.g;
  v_nodeRotation = nodeRotation;

  `).concat(Ys,`
  // CSS pixel attributes are multiplied by u_pixelRatio to match nodeRadiusPixels,
  // which is already in physical pixels (nodeRadiusNDC * u_resolution.x / 2.0).
  float padding = a_backdropPadding * u_pixelRatio;
  float shadowBlur = a_backdropShadowBlur * u_pixelRatio;
  // Unpack a_backdropExtra: [borderWidth, cornerRadius, labelPadding, area]
  float borderWidth = a_backdropExtra.x * u_pixelRatio;
  float cornerRadius = a_backdropExtra.y * u_pixelRatio;
  float labelPad = a_backdropExtra.z * u_pixelRatio;
  float backdropArea = a_backdropExtra.w;
  // Use 2x shadowBlur so the Gaussian fully decays before the quad edge
  float totalExpansion = shadowBlur * 2.0 + borderWidth;
  float enlargedRadius = nodeRadiusPixels + padding;

  // Circumscribed radius for the quad bounds. Non-circular shapes reach past
  // their inradius out to their circumradius (= enlargedRadius / inradiusFactor),
  // in any direction once rotated. The axis-aligned quad must contain that, or
  // the fill/shadow gets clipped (square corners, triangle tip, etc.).
  `).concat(s,`
  float boundRadius = enlargedRadius / inradiusFactor;

  // Apply zoom-dependent label size scaling
  float zoomScale = u_zoomLabelSizeRatio;
  float labelW = a_labelWidth * zoomScale * u_pixelRatio;
  float labelH = a_labelHeight * zoomScale * u_pixelRatio;
  float labelMargin = u_labelMargin * zoomScale * u_pixelRatio;

  // Only apply labelPad when a label is actually present
  float effectiveLabelPad = labelW > 0.0 ? labelPad : 0.0;
  vec2 labelHalfSize = vec2(labelW * 0.5 + effectiveLabelPad, labelH * 0.5 + effectiveLabelPad);
  vec2 labelOffset = vec2(0.0);

  // Effective label angle: intrinsic angle plus the camera angle when the label
  // is graph-aligned, so the box orbits the node in lockstep with the frame-pass.
  float labelAngle = a_labelAngle - labelRotation * u_cameraAngle;
  float la_c = cos(labelAngle);
  float la_s = sin(labelAngle);
  mat2 labelRotMat = mat2(la_c, -la_s, la_s, la_c);

  vec3 nodeClip = u_matrix * vec3(nodePosition, 1.0);
  vec2 snapDelta = vec2(0.0);

  if (labelW > 0.0) {
    // labelW > 0.0 means this node's label is displayed, so the frame-pass wrote
    // its edge distance this frame.
    float edgeDistPixels = nodeRadiusPixels * readFrameTexel(u_nodeFrameTexture, u_nodeFrameTextureWidth, nodeIdx).r;
    // labelMargin matches the label shader's margin (gap from node edge to text)
    float labelStart = edgeDistPixels + labelMargin;
    // Above/below center on the actual glyph height, not the font line box, so
    // the box stays aligned with the rendered text (matches labelBoxCenter()).
    float textHalf = a_textHeight * zoomScale * u_pixelRatio * 0.5;

    // Snap node center to pixel grid so label/backdrop/attachment move as a unit
    vec2 nodeScreen = vec2(
      (nodeClip.x + 1.0) * u_resolution.x,
      (1.0 - nodeClip.y) * u_resolution.y
    ) * 0.5;
    snapDelta = (round(nodeScreen) - nodeScreen) * u_labelPixelSnapping;

    if (a_positionMode < 0.5) {
      // Right: box spans from node center to text end + padding
      float boxRightEdge = labelStart + labelW + labelPad;
      labelOffset = vec2(boxRightEdge * 0.5, 0.0);
      labelHalfSize.x = boxRightEdge * 0.5;
    } else if (a_positionMode < 1.5) {
      // Left: mirror of right
      float boxLeftEdge = labelStart + labelW + labelPad;
      labelOffset = vec2(-boxLeftEdge * 0.5, 0.0);
      labelHalfSize.x = boxLeftEdge * 0.5;
    } else if (a_positionMode < 2.5) {
      // Above: text bottom at labelStart, centered horizontally
      labelOffset = vec2(0.0, -(labelStart + textHalf));
    } else if (a_positionMode < 3.5) {
      // Below: text top at labelStart, centered horizontally
      labelOffset = vec2(0.0, labelStart + textHalf);
    }
    // over (>=4): labelOffset stays (0,0) — text centered on the node.

    // The attachment-cover shift is in label space (like the attachment itself),
    // so rotate it together with the position offset — otherwise the box drifts
    // off the attachment as the label angle grows.
    labelOffset = labelRotMat * (labelOffset + a_labelBoxOffset * zoomScale * u_pixelRatio);
  }

  // For node-only mode, zero out label dimensions
  if (backdropArea > 0.5 && backdropArea < 1.5) {
    labelHalfSize = vec2(0.0);
    labelOffset = vec2(0.0);
  }

  vec2 minBound, maxBound;

  bool hasLabelBounds = labelW > 0.0 && (backdropArea > 1.5 || backdropArea < 0.5);

  if (hasLabelBounds) {
    // Union with label bounds (area=both) or label-only bounds (area=label)
    vec2 labelMin, labelMax;

    if (a_labelAngle != 0.0) {
      vec2 corner1 = labelOffset + labelRotMat * vec2(-labelHalfSize.x, -labelHalfSize.y);
      vec2 corner2 = labelOffset + labelRotMat * vec2(labelHalfSize.x, -labelHalfSize.y);
      vec2 corner3 = labelOffset + labelRotMat * vec2(labelHalfSize.x, labelHalfSize.y);
      vec2 corner4 = labelOffset + labelRotMat * vec2(-labelHalfSize.x, labelHalfSize.y);
      labelMin = min(min(corner1, corner2), min(corner3, corner4));
      labelMax = max(max(corner1, corner2), max(corner3, corner4));
    } else {
      labelMin = labelOffset - labelHalfSize;
      labelMax = labelOffset + labelHalfSize;
    }

    if (backdropArea > 1.5) {
      // Label-only: bounds from label rect only
      minBound = labelMin - totalExpansion;
      maxBound = labelMax + totalExpansion;
    } else {
      // Both: union of node + label
      minBound = min(-vec2(boundRadius), labelMin) - totalExpansion;
      maxBound = max(vec2(boundRadius), labelMax) + totalExpansion;
    }
  } else {
    // Node-only or no visible label
    float totalRadius = boundRadius + totalExpansion;
    minBound = -vec2(totalRadius);
    maxBound = vec2(totalRadius);
  }

  vec2 quadSize = maxBound - minBound;
  vec2 quadCenter = (minBound + maxBound) * 0.5;

  vec2 localPos = quadCenter + a_quadCorner * quadSize * 0.5 + snapDelta;
  vec2 ndcOffset = localPos * 2.0 / u_resolution;
  ndcOffset.y = -ndcOffset.y;

  gl_Position = vec4(nodeClip.xy + ndcOffset, 0.0, 1.0);

  v_uv = localPos;
  v_nodeCenter = vec2(0.0);
  v_nodeRadius = nodeRadiusPixels;
  v_labelCenter = labelOffset;
  v_labelHalfSize = labelHalfSize;
  v_aaWidth = 1.0;
  v_shapeId = shapeId;
  v_labelAngle = labelAngle;
  v_backdropColor = a_backdropColor;
  v_backdropShadowColor = a_backdropShadowColor;
  v_backdropShadowBlur = a_backdropShadowBlur;
  v_backdropPadding = a_backdropPadding;
  v_backdropBorderColor = a_backdropBorderColor;
  v_backdropBorderWidth = borderWidth;
  v_backdropCornerRadius = cornerRadius;
  v_backdropArea = backdropArea;
}
`);return l}function $h(a){var n=a.shapes,e=a.layers,t=a.shapeGlobalIds,r=ii(n),i=Ln(n).map(function(p){return"uniform ".concat(p.type," ").concat(p.name,";")}).join(`
`),o=function(h){return za(h,"nodeUV","1.0")},s;if(n.length===1)s="float nodeSdfNormalized = ".concat(o(n[0]),";");else{var l=n.map(function(p,h){var v=t?t[h]:h;return"    case ".concat(v,": nodeSdfNormalized = ").concat(o(p),"; break;")}).join(`
`),d=o(n[0]);s=`float nodeSdfNormalized;
  int shapeId = int(v_shapeId);
  switch (shapeId) {
`.concat(l,`
    default: nodeSdfNormalized = `).concat(d,`;
  }`)}var c=`float effectiveRadius = max(enlargedRadius - cornerRadius, 0.01);
  float ca = u_cameraAngle * v_nodeRotation;
  float ca_c = cos(ca);
  float ca_s = sin(ca);
  vec2 rotatedScreenUV = mat2(ca_c, -ca_s, ca_s, ca_c) * screenUV;
  vec2 nodeUV = vec2(rotatedScreenUV.x, -rotatedScreenUV.y) / effectiveRadius;`,f=`#version 300 es
precision highp float;

in vec2 v_uv;
in vec2 v_nodeCenter;
in float v_nodeRadius;
in vec2 v_labelCenter;
in vec2 v_labelHalfSize;
in float v_aaWidth;
in float v_shapeId;
in float v_nodeRotation;
in float v_labelAngle;
in vec4 v_backdropColor;
in vec4 v_backdropShadowColor;
in float v_backdropShadowBlur;
in float v_backdropPadding;
in vec4 v_backdropBorderColor;
in float v_backdropBorderWidth;
in float v_backdropCornerRadius;
in float v_backdropArea;
`.concat(tl(n,e,"in"),`

uniform float u_cameraAngle;
`).concat(i,`

layout(location = 0) out vec4 fragColor;
layout(location = 1) out vec4 fragPicking;

`).concat(r,`
`).concat(wh,`
`).concat(Ah,`
`).concat(Rh,`
`).concat(kh,`

void main() {
  vec4 backdropColor = v_backdropColor;
  vec4 shadowColor = v_backdropShadowColor;
  float shadowBlur = v_backdropShadowBlur;
  float padding = v_backdropPadding;
  vec4 borderColor = v_backdropBorderColor;
  float borderWidth = v_backdropBorderWidth;
  float cornerRadius = v_backdropCornerRadius;

  float enlargedRadius = v_nodeRadius + padding;
  vec2 screenUV = v_uv - v_nodeCenter;
  `).concat(c,`

  // Query the correct shape SDF based on shapeId
  `).concat(s,`
  float nodeSdfPixels = nodeSdfNormalized * effectiveRadius - cornerRadius;

  // Label SDF with optional corner radius and rotation
  float labelSdfPixels;
  if (v_labelHalfSize.x > 0.0) {
    vec2 labelP = v_uv - v_labelCenter;
    labelSdfPixels = sdfRoundedRotatedBox(labelP, v_labelHalfSize, v_labelAngle, cornerRadius);
  } else {
    labelSdfPixels = 10000.0;
  }

  // Select area: 0=both, 1=node, 2=label
  float combinedSdf;
  if (v_backdropArea > 1.5) {
    combinedSdf = labelSdfPixels;
  } else if (v_backdropArea > 0.5) {
    combinedSdf = nodeSdfPixels;
  } else {
    combinedSdf = min(nodeSdfPixels, labelSdfPixels);
  }

  // Fill + border composite
  float outerEdge = smoothstep(v_aaWidth, -v_aaWidth, combinedSdf);
  vec4 background;
  if (borderWidth > 0.5) {
    float innerEdge = smoothstep(v_aaWidth, -v_aaWidth, combinedSdf + borderWidth);
    float fillAlpha = innerEdge * backdropColor.a;
    vec4 fill = vec4(backdropColor.rgb * fillAlpha, fillAlpha);
    float borderAlpha = (outerEdge - innerEdge) * borderColor.a;
    vec4 border = vec4(borderColor.rgb * borderAlpha, borderAlpha);
    background = fill + border * (1.0 - fill.a);
  } else {
    float fillAlpha = outerEdge * backdropColor.a;
    background = vec4(backdropColor.rgb * fillAlpha, fillAlpha);
  }

  // Gaussian-like shadow falloff (mimics canvas shadowBlur)
  vec4 shadow = vec4(0.0);
  float sigma = shadowBlur / 2.5;
  if (sigma > 0.001) {
    float shadowDist = max(0.0, combinedSdf);
    float shadowAlpha = exp(-(shadowDist * shadowDist) / (2.0 * sigma * sigma)) * shadowColor.a;
    shadow = vec4(shadowColor.rgb * shadowAlpha, shadowAlpha);
  }

  fragColor = background + shadow * (1.0 - background.a);
  fragPicking = vec4(0.0);
}
`);return f}function Vh(a){var n=["u_matrix","u_sizeRatio","u_correctionRatio","u_cameraAngle","u_resolution","u_pixelRatio","u_labelMargin","u_zoomLabelSizeRatio","u_labelPixelSnapping","u_nodeDataTexture","u_nodeDataTextureWidth","u_nodeFrameTexture","u_nodeFrameTextureWidth","u_layerAttributeTexture","u_layerAttributeTextureWidth","u_layerAttributeTexelsPerNode"],e=O(Ln(a)),t;try{for(e.s();!(t=e.n()).done;){var r=t.value;n.includes(r.name)||n.push(r.name)}}catch(i){e.e(i)}finally{e.f()}return n}function Xh(a){return{vertexShader:Hh(a),fragmentShader:$h(a),uniforms:Vh(a.shapes)}}function jh(a,n,e,t){var r,i,o=t.label,s=o===void 0?{}:o,l=t.shapes,d=t.layers,c=t.getAttributeTexture,f=t.shapeGlobalIds;if(l.length===0)throw new Error("createBackdropProgram: at least one shape must be provided in 'shapes'");var p=(r=s.margin)!==null&&r!==void 0?r:5,h=(i=s.zoomToLabelSizeRatioFunction)!==null&&i!==void 0?i:function(){return 1},v={shapes:l,layers:d,shapeGlobalIds:f},y=Xh(v),b=(function(g){function m(){var _;J(this,m);for(var x=arguments.length,T=new Array(x),S=0;S<x;S++)T[S]=arguments[S];return _=he(this,m,[].concat(T)),w(_,"totalBackdropCount",0),w(_,"bufferCapacity",0),_}return fe(m,g),ee(m,[{key:"getDefinition",value:function(){var x=WebGL2RenderingContext,T=x.FLOAT,S=x.TRIANGLE_STRIP;return{VERTICES:4,VERTEX_SHADER_SOURCE:y.vertexShader,FRAGMENT_SHADER_SOURCE:y.fragmentShader,METHOD:S,UNIFORMS:y.uniforms,ATTRIBUTES:[{name:"a_nodeIndex",size:1,type:T},{name:"a_labelWidth",size:1,type:T},{name:"a_labelHeight",size:1,type:T},{name:"a_textHeight",size:1,type:T},{name:"a_positionMode",size:1,type:T},{name:"a_labelAngle",size:1,type:T},{name:"a_backdropColor",size:4,type:T},{name:"a_backdropShadowColor",size:4,type:T},{name:"a_backdropShadowBlur",size:1,type:T},{name:"a_backdropPadding",size:1,type:T},{name:"a_backdropBorderColor",size:4,type:T},{name:"a_backdropExtra",size:4,type:T},{name:"a_labelBoxOffset",size:2,type:T}],CONSTANT_ATTRIBUTES:[{name:"a_quadCorner",size:2,type:T}],CONSTANT_DATA:[[-1,-1],[1,-1],[-1,1],[1,1]]}}},{key:"processBackdrop",value:function(x,T){var S=this.floats,A=this.STRIDE,E=x*A;S[E++]=T.nodeIndex,S[E++]=T.labelWidth,S[E++]=T.labelHeight,S[E++]=T.textHeight,S[E++]=$t[T.position],S[E++]=T.labelAngle,S[E++]=T.backdropColor[0],S[E++]=T.backdropColor[1],S[E++]=T.backdropColor[2],S[E++]=T.backdropColor[3],S[E++]=T.backdropShadowColor[0],S[E++]=T.backdropShadowColor[1],S[E++]=T.backdropShadowColor[2],S[E++]=T.backdropShadowColor[3],S[E++]=T.backdropShadowBlur,S[E++]=T.backdropPadding,S[E++]=T.backdropBorderColor[0],S[E++]=T.backdropBorderColor[1],S[E++]=T.backdropBorderColor[2],S[E++]=T.backdropBorderColor[3],S[E++]=T.backdropBorderWidth,S[E++]=T.backdropCornerRadius,S[E++]=T.backdropLabelPadding,S[E++]=T.backdropArea,S[E++]=T.labelBoxOffset[0],S[E++]=T.labelBoxOffset[1]}},{key:"setUniforms",value:function(x,T){var S=T.gl,A=T.uniformLocations;S.uniformMatrix3fv(A.u_matrix,!1,x.matrix),S.uniform1f(A.u_sizeRatio,x.sizeRatio),S.uniform1f(A.u_correctionRatio,x.correctionRatio),S.uniform1f(A.u_cameraAngle,x.cameraAngle),S.uniform2f(A.u_resolution,x.width*x.pixelRatio,x.height*x.pixelRatio),S.uniform1f(A.u_pixelRatio,x.pixelRatio),S.uniform1f(A.u_labelMargin,m.labelMargin),S.uniform1f(A.u_zoomLabelSizeRatio,1/h(x.zoomRatio)),S.uniform1f(A.u_labelPixelSnapping,x.labelPixelSnapping),S.uniform1i(A.u_nodeDataTexture,x.nodeDataTextureUnit),S.uniform1i(A.u_nodeDataTextureWidth,x.nodeDataTextureWidth),S.uniform1i(A.u_nodeFrameTexture,x.nodeFrameTextureUnit),S.uniform1i(A.u_nodeFrameTextureWidth,x.nodeFrameTextureWidth);var E=c();A.u_layerAttributeTexture&&E&&(E.bind(lt),S.uniform1i(A.u_layerAttributeTexture,lt),S.uniform1i(A.u_layerAttributeTextureWidth,E.getTextureWidth()),S.uniform1i(A.u_layerAttributeTexelsPerNode,E.getTexelsPerItem()));var D=O(Ln(l)),k;try{for(D.s();!(k=D.n()).done;){var P=k.value;this.setTypedUniform(P,T)}}catch(R){D.e(R)}finally{D.f()}}},{key:"hasNothingToRender",value:function(){return this.totalBackdropCount===0}},{key:"drawWebGL",value:function(x,T){var S=T.gl;this.totalBackdropCount!==0&&(this.isInstanced?S.drawArraysInstanced(x,0,this.VERTICES,this.totalBackdropCount):S.drawArrays(x,0,this.totalBackdropCount*this.VERTICES))}},{key:"reallocate",value:function(x){this.totalBackdropCount=x,x>this.bufferCapacity&&(this.bufferCapacity=Math.max(x,Math.ceil(this.bufferCapacity*1.5)||10),ye(m,"reallocate",this,3)([this.bufferCapacity]))}}])})(St);return w(b,"labelMargin",p),new b(a,n,e)}var nl=(function(a){function n(){var e;J(this,n);for(var t=arguments.length,r=new Array(t),i=0;i<t;i++)r[i]=arguments[i];return e=he(this,n,[].concat(r)),w(e,"totalCharacterCount",0),w(e,"bufferCapacity",0),e}return fe(n,a),ee(n,[{key:"processLabel",value:function(t,r,i){if(i.hidden||!i.text)return 0;for(var o=i.text,s=o.length,l=0;l<s;l++){var d=o[l];this.processCharacter(r+l,i,d,l)}return s}},{key:"hasNothingToRender",value:function(){return this.totalCharacterCount===0}},{key:"drawWebGL",value:function(t,r){var i=r.gl;this.totalCharacterCount!==0&&(this.isInstanced?i.drawArraysInstanced(t,0,this.VERTICES,this.totalCharacterCount):i.drawArrays(t,0,this.totalCharacterCount*this.VERTICES))}},{key:"reallocate",value:function(t){this.totalCharacterCount=t,t>this.bufferCapacity&&(this.bufferCapacity=Math.max(t,Math.ceil(this.bufferCapacity*1.5)||1e3),ye(n,"reallocate",this,3)([this.bufferCapacity]))}}])})(St);function qh(){var a=`#version 300 es

in float a_nodeIndex;
in vec4 a_id;
in vec4 a_color;
in float a_labelWidth;
in float a_labelHeight;
in float a_textHeight;
in float a_positionMode;
in float a_labelAngle;
in float a_padding;
in vec2 a_quadCorner;

uniform mat3 u_matrix;
uniform float u_sizeRatio;
uniform float u_correctionRatio;
uniform float u_cameraAngle;
uniform vec2 u_resolution;
uniform float u_pixelRatio;
uniform float u_labelMargin;
uniform float u_zoomLabelSizeRatio;
uniform float u_labelPixelSnapping;
uniform float u_pickingPadding;
uniform sampler2D u_nodeDataTexture;
uniform int u_nodeDataTextureWidth;
uniform sampler2D u_nodeFrameTexture;
uniform int u_nodeFrameTextureWidth;

out vec4 v_id;
out vec4 v_color;

`.concat(tt,`
`).concat(Tt,`
`).concat(Xt,`
`).concat(Qs,`

void main() {
  int nodeIdx = int(a_nodeIndex);

  // Node data: (x, y, size, shapeId).
  vec4 nodeData = readNodeData(u_nodeDataTexture, u_nodeDataTextureWidth, nodeIdx);
  vec2 nodePosition = nodeData.xy;
  float nodeSize = nodeData.z;

  // Shape-aware edge distance, read once from the shared frame texture.
  float edgeDist = readFrameTexel(u_nodeFrameTexture, u_nodeFrameTextureWidth, nodeIdx).r;

  // Per-node label rotation alignment: 0 = viewport, 1 = label turns with camera.
  float labelRotation = readNodeFlags(u_nodeDataTexture, u_nodeDataTextureWidth, nodeIdx).g;

  `).concat(Ys,`

  float zoomScale = u_zoomLabelSizeRatio;
  float labelW = a_labelWidth * zoomScale * u_pixelRatio;
  float labelH = a_labelHeight * zoomScale * u_pixelRatio;
  float labelMargin = u_labelMargin * zoomScale * u_pixelRatio;
#ifdef PICKING_MODE
  float padding = u_pickingPadding * u_pixelRatio;
#else
  float padding = a_padding * u_pixelRatio;
#endif

  if (labelW <= 0.0) {
    gl_Position = vec4(2.0, 0.0, 0.0, 1.0);
    v_id = vec4(0.0);
    v_color = vec4(0.0);
    return;
  }

  vec2 labelHalfSize = vec2(labelW * 0.5 + padding, labelH * 0.5 + padding);
  vec2 labelOffset = vec2(0.0);

  // Graph-aligned labels add the camera angle so the rect orbits with the text.
  float labelAngle = a_labelAngle - labelRotation * u_cameraAngle;
  float la_c = cos(labelAngle);
  float la_s = sin(labelAngle);
  mat2 labelRotMat = mat2(la_c, -la_s, la_s, la_c);

  vec3 nodeClip = u_matrix * vec3(nodePosition, 1.0);
  vec2 nodeScreen = vec2(
    (nodeClip.x + 1.0) * u_resolution.x,
    (1.0 - nodeClip.y) * u_resolution.y
  ) * 0.5;
  vec2 snapDelta = (round(nodeScreen) - nodeScreen) * u_labelPixelSnapping;

  if (a_positionMode < 4.0) {
    float labelStart = nodeRadiusPixels * edgeDist + labelMargin;
    float textHalf = a_textHeight * zoomScale * u_pixelRatio * 0.5;
    // Box center uses the text half-size; the padding expands the quad below.
    labelOffset = labelRotMat * labelBoxCenter(a_positionMode, labelStart, vec2(labelW * 0.5, labelH * 0.5), textHalf);
  }

  // Rotate the rect with the label so it stays aligned with the (rotated) text.
  vec2 localPos = labelOffset + labelRotMat * (a_quadCorner * labelHalfSize);
  vec2 ndcOffset = (localPos + snapDelta) * 2.0 / u_resolution;
  ndcOffset.y = -ndcOffset.y;

  gl_Position = vec4(nodeClip.xy + ndcOffset, 0.0, 1.0);
  v_id = a_id;
  v_color = a_color;
}
`);return a}var Kh=`#version 300 es
precision highp float;

in vec4 v_id;
in vec4 v_color;

out vec4 fragColor;

void main() {
  #ifdef PICKING_MODE
    fragColor = v_id;
  #else
    if (v_color.a <= 0.0) discard;
    // v_color is non-premultiplied RGBA (0-1); convert to premultiplied for blending
    fragColor = vec4(v_color.rgb * v_color.a, v_color.a);
  #endif
}
`;function Yh(a,n,e,t){var r,i,o=t.label,s=o===void 0?{}:o,l=(r=s.margin)!==null&&r!==void 0?r:Vt,d=(i=s.zoomToLabelSizeRatioFunction)!==null&&i!==void 0?i:function(){return 1},c=qh(),f=(function(p){function h(){var v;J(this,h);for(var y=arguments.length,b=new Array(y),g=0;g<y;g++)b[g]=arguments[g];return v=he(this,h,[].concat(b)),w(v,"totalCount",0),w(v,"bufferCapacity",0),v}return fe(h,p),ee(h,[{key:"getDefinition",value:function(){var y=WebGL2RenderingContext,b=y.FLOAT,g=y.UNSIGNED_BYTE,m=y.TRIANGLE_STRIP;return{VERTICES:4,VERTEX_SHADER_SOURCE:c,FRAGMENT_SHADER_SOURCE:Kh,METHOD:m,UNIFORMS:["u_matrix","u_sizeRatio","u_correctionRatio","u_cameraAngle","u_resolution","u_pixelRatio","u_labelMargin","u_zoomLabelSizeRatio","u_labelPixelSnapping","u_pickingPadding","u_nodeDataTexture","u_nodeDataTextureWidth","u_nodeFrameTexture","u_nodeFrameTextureWidth"],ATTRIBUTES:[{name:"a_nodeIndex",size:1,type:b},{name:"a_id",size:4,type:g,normalized:!0},{name:"a_color",size:4,type:g,normalized:!0},{name:"a_labelWidth",size:1,type:b},{name:"a_labelHeight",size:1,type:b},{name:"a_textHeight",size:1,type:b},{name:"a_positionMode",size:1,type:b},{name:"a_labelAngle",size:1,type:b},{name:"a_padding",size:1,type:b}],CONSTANT_ATTRIBUTES:[{name:"a_quadCorner",size:2,type:b}],CONSTANT_DATA:[[-1,-1],[1,-1],[-1,1],[1,1]]}}},{key:"processLabelBackground",value:function(y,b){var g=this.floats,m=this.ints,_=y*this.STRIDE;g[_++]=b.nodeIndex,m[_++]=b.id,g[_++]=b.color,g[_++]=b.labelWidth,g[_++]=b.labelHeight,g[_++]=b.textHeight,g[_++]=b.positionMode,g[_++]=b.labelAngle,g[_++]=b.padding}},{key:"setUniforms",value:function(y,b){var g=b.gl,m=b.uniformLocations;g.uniformMatrix3fv(m.u_matrix,!1,y.matrix),g.uniform1f(m.u_sizeRatio,y.sizeRatio),g.uniform1f(m.u_correctionRatio,y.correctionRatio),g.uniform1f(m.u_cameraAngle,y.cameraAngle),g.uniform2f(m.u_resolution,y.width*y.pixelRatio,y.height*y.pixelRatio),g.uniform1f(m.u_pixelRatio,y.pixelRatio),g.uniform1f(m.u_labelMargin,h.labelMargin),g.uniform1f(m.u_zoomLabelSizeRatio,1/d(y.zoomRatio)),g.uniform1f(m.u_labelPixelSnapping,y.labelPixelSnapping),g.uniform1f(m.u_pickingPadding,y.labelPickingPadding),g.uniform1i(m.u_nodeDataTexture,y.nodeDataTextureUnit),g.uniform1i(m.u_nodeDataTextureWidth,y.nodeDataTextureWidth),g.uniform1i(m.u_nodeFrameTexture,y.nodeFrameTextureUnit),g.uniform1i(m.u_nodeFrameTextureWidth,y.nodeFrameTextureWidth)}},{key:"hasNothingToRender",value:function(){return this.totalCount===0}},{key:"drawWebGL",value:function(y,b){var g=b.gl;this.totalCount!==0&&g.drawArraysInstanced(g.TRIANGLE_STRIP,0,this.VERTICES,this.totalCount)}},{key:"reallocate",value:function(y){this.totalCount=y,y>this.bufferCapacity&&(this.bufferCapacity=Math.max(y,Math.ceil(this.bufferCapacity*1.5)||10),ye(h,"reallocate",this,3)([this.bufferCapacity]))}}])})(St);return w(f,"labelMargin",l),new f(a,n,e)}var qe={fontSize:64,buffer:8,radius:24,cutoff:.25,maxTextureSize:2048,debounceTimeout:100},wn=2,Rn=1e20;function Zh(a,n,e,t,r){var i=a+r*4,o=document.createElement("canvas");o.width=i,o.height=i;var s=o.getContext("2d",{willReadFrequently:!0});return s.font="".concat(t," ").concat(e," ").concat(a,"px ").concat(n),s.textBaseline="alphabetic",s.textAlign="left",s.fillStyle="black",{ctx:s,canvasSize:i,gridOuter:new Float64Array(i*i),gridInner:new Float64Array(i*i),f:new Float64Array(i),z:new Float64Array(i+1),v:new Uint16Array(i)}}function Qh(a,n,e,t,r){var i=a.ctx,o=a.canvasSize,s=i.measureText(n),l=s.width,d=s.actualBoundingBoxAscent,c=s.actualBoundingBoxDescent,f=s.actualBoundingBoxLeft,p=s.actualBoundingBoxRight,h=Math.ceil(d),v=Math.ceil(f),y=Math.max(0,Math.min(o-e,Math.ceil(f)+Math.ceil(p))),b=Math.min(o-e,h+Math.ceil(c)),g=y+2*e,m=b+2*e,_=Math.max(g*m,0),x=new Uint8ClampedArray(_),T={data:x,width:g,height:m,glyphWidth:y,glyphHeight:b,glyphTop:h,glyphLeft:v,glyphAdvance:l};if(y===0||b===0)return T;var S=a.gridInner,A=a.gridOuter;i.clearRect(e,e,y,b),i.fillText(n,e+v,e+h);var E=i.getImageData(e,e,y,b);A.fill(Rn,0,_),S.fill(0,0,_);for(var D=0;D<b;D++)for(var k=0;k<y;k++){var P=E.data[4*(D*y+k)+3]/255;if(P!==0){var R=(D+e)*g+k+e;if(P===1)A[R]=0,S[R]=Rn;else{var C=.5-P;A[R]=C>0?C*C:0,S[R]=C<0?C*C:0}}}Os(A,0,0,g,m,g,a.f,a.v,a.z),Os(S,e,e,y,b,g,a.f,a.v,a.z);for(var L=0;L<_;L++){var M=Math.sqrt(A[L])-Math.sqrt(S[L]);x[L]=Math.round(255-255*(M/t+r))}return T}function Os(a,n,e,t,r,i,o,s,l){for(var d=n;d<n+t;d++)Ws(a,e*i+d,i,r,o,s,l);for(var c=e;c<e+r;c++)Ws(a,c*i+n,1,t,o,s,l)}function Ws(a,n,e,t,r,i,o){i[0]=0,o[0]=-Rn,o[1]=Rn,r[0]=a[n];for(var s=1,l=0,d=0;s<t;s++){r[s]=a[n+s*e];var c=s*s;do{var f=i[l];d=(r[s]-r[f]+c-f*f)/(s-f)/2}while(d<=o[l]&&--l>-1);l++,i[l]=s,o[l]=d,o[l+1]=Rn}for(var p=0,h=0;p<t;p++){for(;o[h+1]<p;)h++;var v=i[h],y=p-v;a[n+p*e]=r[v]+y*y}}var xt=(function(a){function n(){var e,t=arguments.length>0&&arguments[0]!==void 0?arguments[0]:{};return J(this,n),e=he(this,n),w(e,"fonts",new Map),w(e,"textures",[]),w(e,"cursor",{x:0,y:0,rowHeight:0,atlasIndex:0}),w(e,"pendingGlyphs",[]),w(e,"debounceTimer",null),e.options=W(W({},qe),t),e.canvas=document.createElement("canvas"),e.canvas.width=e.options.maxTextureSize,e.canvas.height=e.options.maxTextureSize,e.ctx=e.canvas.getContext("2d",{willReadFrequently:!0}),e.measureCanvas=document.createElement("canvas"),e.measureCtx=e.measureCanvas.getContext("2d"),e.textures.push(e.ctx.getImageData(0,0,1,1)),e}return fe(n,a),ee(n,[{key:"getFontKey",value:function(t){return"".concat(t.family,"-").concat(t.weight,"-").concat(t.style)}},{key:"registerFont",value:function(t){var r=this.getFontKey(t);if(this.fonts.has(r))return r;var i=Zh(this.options.fontSize,t.family,t.weight,t.style,this.options.buffer);return this.fonts.set(r,{descriptor:t,generator:i,glyphs:new Map}),r}},{key:"ensureGlyphs",value:function(t,r){var i=this.fonts.get(r);if(!i)throw new Error('Font "'.concat(r,'" is not registered. Call registerFont() first.'));var o=!1,s=O(t),l;try{for(s.s();!(l=s.n()).done;){var d=l.value,c=d.codePointAt(0);c!==void 0&&(i.glyphs.has(c)||(this.pendingGlyphs.push({fontKey:r,charCode:c}),o=!0))}}catch(f){s.e(f)}finally{s.f()}o&&this.scheduleTextureGeneration()}},{key:"measureText",value:function(t,r){var i=this.fonts.get(r);if(!i)throw new Error('Font "'.concat(r,'" is not registered.'));var o=i.descriptor,s=o.family,l=o.weight,d=o.style;return this.measureCtx.font="".concat(d," ").concat(l," ").concat(this.options.fontSize,"px ").concat(s),this.measureCtx.measureText(t).width}},{key:"getGlyph",value:function(t,r){var i=this.fonts.get(r);if(i)return i.glyphs.get(t)}},{key:"getTextures",value:function(){return this.textures}},{key:"getFontCount",value:function(){return this.fonts.size}},{key:"getGlyphCount",value:function(){var t=0,r=O(this.fonts.values()),i;try{for(r.s();!(i=r.n()).done;){var o=i.value;t+=o.glyphs.size}}catch(s){r.e(s)}finally{r.f()}return t}},{key:"hasPendingGlyphs",value:function(){return this.pendingGlyphs.length>0}},{key:"flush",value:function(){this.debounceTimer&&(clearTimeout(this.debounceTimer),this.debounceTimer=null),this.generateTextures()}},{key:"destroy",value:function(){this.debounceTimer&&clearTimeout(this.debounceTimer),this.fonts.clear(),this.textures=[],this.pendingGlyphs=[],this.removeAllListeners()}},{key:"scheduleTextureGeneration",value:function(){var t=this;this.debounceTimer===null&&(this.options.debounceTimeout===null?this.generateTextures():this.debounceTimer=setTimeout(function(){t.debounceTimer=null,t.generateTextures()},this.options.debounceTimeout))}},{key:"generateTextures",value:function(){if(this.pendingGlyphs.length!==0){var t=this.options,r=t.maxTextureSize,i=t.buffer,o=t.radius,s=t.cutoff,l=O(this.pendingGlyphs),d;try{for(l.s();!(d=l.n()).done;){var c=d.value,f=c.fontKey,p=c.charCode,h=this.fonts.get(f);if(!(!h||h.glyphs.has(p))){var v=String.fromCodePoint(p),y=Qh(h.generator,v,i,o,s),b=y.width,g=y.height;this.cursor.x+b+wn>r&&(this.cursor.x=0,this.cursor.y+=this.cursor.rowHeight+wn,this.cursor.rowHeight=0),this.cursor.y+g+wn>r&&(this.finalizeCurrentTexture(),this.cursor={x:0,y:0,rowHeight:0,atlasIndex:this.cursor.atlasIndex+1},this.ctx.clearRect(0,0,r,r));for(var m=y.data,_=new Uint8ClampedArray(b*g*4),x=0;x<m.length;x++){var T=x*4;_[T]=255,_[T+1]=255,_[T+2]=255,_[T+3]=m[x]}var S=new ImageData(_,b,g);this.ctx.putImageData(S,this.cursor.x,this.cursor.y);var A={charCode:p,width:y.glyphWidth,height:y.glyphHeight,bearingX:-y.glyphLeft-i,bearingY:y.glyphTop+i,advance:y.glyphAdvance,atlasX:this.cursor.x,atlasY:this.cursor.y,atlasWidth:b,atlasHeight:g,atlasIndex:this.cursor.atlasIndex};h.glyphs.set(p,A),this.cursor.x+=b+wn,this.cursor.rowHeight=Math.max(this.cursor.rowHeight,g)}}}catch(E){l.e(E)}finally{l.f()}this.finalizeCurrentTexture(),this.pendingGlyphs=[],this.emit(n.ATLAS_UPDATED_EVENT,{textures:this.textures,glyphCount:this.getGlyphCount()})}}},{key:"finalizeCurrentTexture",value:function(){var t=this.options.maxTextureSize,r=this.cursor.y>0||this.cursor.rowHeight>0,i=Math.min(t,Math.max(this.cursor.x,r?t:1)),o=Math.min(t,this.cursor.y+this.cursor.rowHeight+wn),s=this.ctx.getImageData(0,0,i,o);this.cursor.atlasIndex>=this.textures.length?this.textures.push(s):this.textures[this.cursor.atlasIndex]=s}}])})(Vs.EventEmitter);w(xt,"ATLAS_UPDATED_EVENT","atlasUpdated");var Jh=qe.fontSize;function ef(){var a=`  // -------------------------------------------------------------------------
  // Step 3: Calculate position offset from the shared edge distance
  // -------------------------------------------------------------------------
  vec2 positionOffset = vec2(0.0);

  if (a_positionMode < 4.0) {
    vec2 screenDir = getLabelDirection(a_positionMode);
    float boundaryDistPixels = nodeRadiusPixels * edgeDist;
    positionOffset = screenDir * (boundaryDistPixels + margin);
  }`,n=`#version 300 es

// ============================================================================
// Attributes
// ============================================================================

// Per-character (instanced)
in float a_nodeIndex;        // Index into node data texture
in vec2 a_charOffset;        // Character offset from label origin (pixels)
in vec2 a_charSize;          // Character dimensions (pixels)
in vec4 a_texCoords;         // Atlas coords: (x, y, width, height) in pixels
in vec4 a_color;             // Text color (RGBA)
in float a_margin;           // Gap between node edge and label (pixels)
in float a_positionMode;     // Position: 0=right, 1=left, 2=above, 3=below, 4=over
in float a_labelWidth;       // Total label width (pixels)
in float a_labelHeight;      // Label height (pixels)
in float a_verticalCenter;   // Vertical center offset from baseline (pixels)
in float a_textHeight;       // Actual text height: maxAscent + maxDescent (pixels)
in float a_labelAngle;       // Label rotation angle (radians)

// Per-vertex (constant quad corners)
in vec2 a_quadCorner;        // Quad corner: [-1,-1], [1,-1], [-1,1], [1,1]

// ============================================================================
// Uniforms
// ============================================================================

uniform mat3 u_matrix;
uniform float u_sizeRatio;
uniform float u_correctionRatio;
uniform float u_cameraAngle;
uniform vec2 u_resolution;
uniform vec2 u_atlasSize;
uniform sampler2D u_nodeDataTexture;
uniform int u_nodeDataTextureWidth;
uniform sampler2D u_nodeFrameTexture;
uniform int u_nodeFrameTextureWidth;
uniform float u_zoomLabelSizeRatio;
uniform float u_labelPixelSnapping;
uniform float u_pixelRatio;

// ============================================================================
// Varyings
// ============================================================================

out vec2 v_texCoord;
out vec4 v_color;
out float v_fontScale;

// ============================================================================
// Constants
// ============================================================================

const float bias = 255.0 / 254.0;
const float ATLAS_FONT_SIZE = `.concat(pe(Jh),`;

// ============================================================================
// Helper Functions
// ============================================================================

`).concat(tt,`
`).concat(Tt,`
`).concat(Xt,`
`).concat(Zs,`

// ============================================================================
// Main
// ============================================================================

void main() {
  // -------------------------------------------------------------------------
  // Step 0: Fetch node data + shared edge distance from textures
  // -------------------------------------------------------------------------
  // Node-data texture format: vec4(x, y, size, shapeId)
  // 2D texture layout: texCoord = (index % width, index / width)
  int nodeIdx = int(a_nodeIndex);
  vec4 nodeData = readNodeData(u_nodeDataTexture, u_nodeDataTextureWidth, nodeIdx);
  vec2 a_anchorPosition = nodeData.xy;
  float a_nodeSize = nodeData.z;

  // Normalized edge distance from the shared frame texture (the frame-pass ran
  // the SDF search once; the label just reads the result).
  float edgeDist = readFrameTexel(u_nodeFrameTexture, u_nodeFrameTextureWidth, nodeIdx).r;

  // Per-node label rotation alignment: 0 = viewport, 1 = label turns with camera.
  float labelRotation = readNodeFlags(u_nodeDataTexture, u_nodeDataTextureWidth, nodeIdx).g;

  // Apply zoom-dependent label size scaling
  // Positional values are in CSS pixels; multiply by u_pixelRatio to convert to
  // physical pixels, which is what the NDC conversion (/ u_resolution) expects.
  float zoomScale = u_zoomLabelSizeRatio;
  float margin = a_margin * zoomScale * u_pixelRatio;
  vec2 charOffset = a_charOffset * zoomScale * u_pixelRatio;
  vec2 charSize = a_charSize * zoomScale * u_pixelRatio;
  float labelWidth = a_labelWidth * zoomScale * u_pixelRatio;
  float labelHeight = a_labelHeight * zoomScale;

  // Font scale: ratio of CSS label size to the base atlas font size.
  // Divided by u_pixelRatio because the atlas is generated at ATLAS_FONT_SIZE * pixelRatio,
  // which cancels out the u_pixelRatio in the fragment shader's gamma formula and keeps
  // the anti-aliasing band width consistent across pixel densities.
  v_fontScale = a_labelHeight * zoomScale / (ATLAS_FONT_SIZE * u_pixelRatio);

  // -------------------------------------------------------------------------
  // Step 1: Transform node position to clip space
  // -------------------------------------------------------------------------
  vec3 anchorClip = u_matrix * vec3(a_anchorPosition, 1.0);

  // -------------------------------------------------------------------------
  // Step 2: Convert node size to screen pixels
  // -------------------------------------------------------------------------
  float matrixScaleX = length(vec2(u_matrix[0][0], u_matrix[1][0]));
  float nodeRadiusGraphSpace = a_nodeSize * u_correctionRatio / u_sizeRatio * 2.0;
  float nodeRadiusNDC = nodeRadiusGraphSpace * matrixScaleX;
  float nodeRadiusPixels = nodeRadiusNDC * u_resolution.x / 2.0;

`).concat(a,`

  // -------------------------------------------------------------------------
  // Step 4: Calculate final vertex position
  // -------------------------------------------------------------------------
  vec2 cornerOffset = (a_quadCorner + 1.0) * 0.5;
  vec2 charPixelPos = positionOffset + charOffset + cornerOffset * charSize;

  // Apply text alignment based on position mode
  float verticalCenter = a_verticalCenter * zoomScale * u_pixelRatio;
  float textHeight = a_textHeight * zoomScale * u_pixelRatio;
  float baselineToDescent = textHeight / 2.0 - verticalCenter;
  float baselineToAscent = textHeight / 2.0 + verticalCenter;

  if (a_positionMode < 0.5) {
    // Right: vertically center
    charPixelPos.y += verticalCenter;
  } else if (a_positionMode < 1.5) {
    // Left: right-align and vertically center
    charPixelPos.x -= labelWidth;
    charPixelPos.y += verticalCenter;
  } else if (a_positionMode < 2.5) {
    // Above: center horizontally, bottom of text at anchor
    charPixelPos.x -= labelWidth * 0.5;
    charPixelPos.y -= baselineToDescent;
  } else if (a_positionMode < 3.5) {
    // Below: center horizontally, top of text at anchor
    charPixelPos.x -= labelWidth * 0.5;
    charPixelPos.y += baselineToAscent;
  } else {
    // Over: center both
    charPixelPos.x -= labelWidth * 0.5;
    charPixelPos.y += verticalCenter;
  }

  // Apply label angle rotation. Graph-aligned labels add the camera angle so the
  // whole label orbits the node in lockstep with the frame-pass edge distance.
  float labelAngle = a_labelAngle - labelRotation * u_cameraAngle;
  float la_c = cos(labelAngle);
  float la_s = sin(labelAngle);
  mat2 labelRotMat = mat2(la_c, -la_s, la_s, la_c);
  charPixelPos = labelRotMat * charPixelPos;

  // Snap node center to pixel grid so label/backdrop/attachment move as a unit
  vec2 nodeScreen = vec2(
    (anchorClip.x + 1.0) * u_resolution.x,
    (1.0 - anchorClip.y) * u_resolution.y
  ) * 0.5;
  charPixelPos += (round(nodeScreen) - nodeScreen) * u_labelPixelSnapping;

  // Convert to NDC (flip Y: screen Y-down -> clip Y-up)
  vec2 ndcOffset = vec2(charPixelPos.x, -charPixelPos.y) * 2.0 / u_resolution;
  gl_Position = vec4(anchorClip.xy + ndcOffset, 0.0, 1.0);

  // -------------------------------------------------------------------------
  // Step 5: Texture coordinates
  // -------------------------------------------------------------------------
  v_texCoord = (a_texCoords.xy + cornerOffset * a_texCoords.zw) / u_atlasSize;

  // -------------------------------------------------------------------------
  // Step 6: Pass color
  // -------------------------------------------------------------------------
  v_color = a_color;
  v_color.a *= bias;
}
`);return n}function tf(){var a=`#version 300 es
precision highp float;

in vec2 v_texCoord;
in vec4 v_color;
in float v_fontScale;

uniform sampler2D u_atlas;
uniform float u_gamma;
uniform float u_sdfBuffer;
uniform float u_pixelRatio;

// Fragment output (single target - picking handled via separate pass)
out vec4 fragColor;

void main() {
  #ifdef PICKING_MODE
    // Labels are not pickable - discard all fragments in picking mode
    fragColor = vec4(0.0);
    discard;
  #else
    // Sample SDF value from atlas (high = inside glyph, low = outside)
    float sdfValue = texture(u_atlas, v_texCoord).a;

    // Edge threshold: 1.0 - cutoff = 0.75 for default cutoff=0.25
    // This is where the glyph edge is located in the SDF
    float edgeThreshold = 1.0 - u_sdfBuffer;

    // Gamma controls the anti-aliasing band width.
    // Scale inversely with font scale so small labels get a wider AA band
    // (smoother) and large labels get a tighter band (sharper).
    float gamma = u_gamma / (u_pixelRatio * v_fontScale);

    // Pure gamma-based anti-aliasing using smoothstep
    // The AA band extends from (threshold - gamma) to (threshold + gamma)
    float alpha = smoothstep(edgeThreshold - gamma, edgeThreshold + gamma, sdfValue);

    // Premultiplied alpha output for correct blending
    float finalAlpha = v_color.a * alpha;
    fragColor = vec4(v_color.rgb * finalAlpha, finalAlpha);
  #endif
}
`;return a}function nf(){return["u_matrix","u_sizeRatio","u_correctionRatio","u_cameraAngle","u_resolution","u_atlasSize","u_atlas","u_gamma","u_sdfBuffer","u_pixelRatio","u_nodeDataTexture","u_nodeDataTextureWidth","u_nodeFrameTexture","u_nodeFrameTextureWidth","u_zoomLabelSizeRatio","u_labelPixelSnapping"]}function af(){return{vertexShader:ef(),fragmentShader:tf(),uniforms:nf()}}function rf(a,n,e,t){var r,i,o=t.label,s=o===void 0?{}:o,l=(r=s.margin)!==null&&r!==void 0?r:Vt,d=(i=s.zoomToLabelSizeRatioFunction)!==null&&i!==void 0?i:function(){return 1},c=af(),f=(function(p){function h(v,y,b){var g,m,_,x;if(J(this,h),x=he(this,h,[v,y,b]),w(x,"atlasTexture",null),w(x,"atlasNeedsUpdate",!1),w(x,"labelGlyphCache",new Map),x.atlasFontSize=qe.fontSize*En(),x.atlasManager=new xt({fontSize:x.atlasFontSize}),x.gamma=.025,x.sdfBuffer=qe.cutoff,x.atlasTexture=v.createTexture(),!x.atlasTexture)throw new Error("NodeLabelProgram: failed to create atlas texture");v.bindTexture(v.TEXTURE_2D,x.atlasTexture),v.texParameteri(v.TEXTURE_2D,v.TEXTURE_WRAP_S,v.CLAMP_TO_EDGE),v.texParameteri(v.TEXTURE_2D,v.TEXTURE_WRAP_T,v.CLAMP_TO_EDGE),v.texParameteri(v.TEXTURE_2D,v.TEXTURE_MIN_FILTER,v.LINEAR),v.texParameteri(v.TEXTURE_2D,v.TEXTURE_MAG_FILTER,v.LINEAR),v.bindTexture(v.TEXTURE_2D,null),x.atlasManager.on(xt.ATLAS_UPDATED_EVENT,function(){x.atlasNeedsUpdate=!0});var T={family:((g=s.font)===null||g===void 0?void 0:g.family)||"sans-serif",weight:((m=s.font)===null||m===void 0?void 0:m.weight)||"normal",style:((_=s.font)===null||_===void 0?void 0:_.style)||"normal"};return x.defaultFontKey=x.atlasManager.registerFont(T),x}return fe(h,p),ee(h,[{key:"getDefinition",value:function(){var y=WebGL2RenderingContext,b=y.FLOAT,g=y.UNSIGNED_BYTE,m=y.TRIANGLE_STRIP;return{VERTICES:4,VERTEX_SHADER_SOURCE:c.vertexShader,FRAGMENT_SHADER_SOURCE:c.fragmentShader,METHOD:m,UNIFORMS:c.uniforms,ATTRIBUTES:[{name:"a_nodeIndex",size:1,type:b},{name:"a_charOffset",size:2,type:b},{name:"a_charSize",size:2,type:b},{name:"a_texCoords",size:4,type:b},{name:"a_color",size:4,type:g,normalized:!0},{name:"a_margin",size:1,type:b},{name:"a_positionMode",size:1,type:b},{name:"a_labelWidth",size:1,type:b},{name:"a_labelHeight",size:1,type:b},{name:"a_verticalCenter",size:1,type:b},{name:"a_textHeight",size:1,type:b},{name:"a_labelAngle",size:1,type:b}],CONSTANT_ATTRIBUTES:[{name:"a_quadCorner",size:2,type:b}],CONSTANT_DATA:[[-1,-1],[1,-1],[-1,1],[1,1]]}}},{key:"prepareLabelGlyphs",value:function(y,b){if(b.hidden||!b.text){this.labelGlyphCache.delete(y);return}var g=b.text,m=b.fontKey||this.defaultFontKey;this.atlasManager.ensureGlyphs(g,m);var _=[],x=[],T=0,S=0,A=0,E=O(g),D;try{for(E.s();!(D=E.n()).done;){var k=D.value,P=k.codePointAt(0);if(P===void 0){_.push(void 0),x.push(T);continue}var R=this.atlasManager.getGlyph(P,m);_.push(R),x.push(T),R&&(T+=R.advance,S=Math.max(S,R.bearingY),A=Math.max(A,R.atlasHeight-R.bearingY))}}catch(C){E.e(C)}finally{E.f()}this.labelGlyphCache.set(y,{glyphs:_,xOffsets:x,totalWidth:T,totalHeight:S+A,verticalCenterOffset:(S-A)/2})}},{key:"processCharacter",value:function(y,b,g,m){var _=this.floats,x=this.STRIDE,T=y*x,S=this.labelGlyphCache.get(b.parentKey);if(!S||!S.glyphs[m]){for(var A=0;A<x;A++)_[T+A]=0;return}var E=S.glyphs[m],D=S.xOffsets[m],k=b.size/this.atlasFontSize,P=Oe(b.color),R=T;_[R++]=b.nodeIndex,_[R++]=(D+E.bearingX)*k,_[R++]=-E.bearingY*k,_[R++]=E.atlasWidth*k,_[R++]=E.atlasHeight*k,_[R++]=E.atlasX,_[R++]=E.atlasY,_[R++]=E.atlasWidth,_[R++]=E.atlasHeight,_[R++]=P,_[R++]=b.margin,_[R++]=$t[b.position],_[R++]=S.totalWidth*k,_[R++]=b.size,_[R++]=S.verticalCenterOffset*k,_[R++]=S.totalHeight*k,_[R++]=b.labelAngle}},{key:"processLabel",value:function(y,b,g){return this.prepareLabelGlyphs(y,g),ye(h,"processLabel",this,3)([y,b,g])}},{key:"updateAtlasTexture",value:function(){if(this.atlasNeedsUpdate){var y=this.normalProgram.gl,b=this.atlasManager.getTextures();if(b.length!==0){var g=b[0];y.bindTexture(y.TEXTURE_2D,this.atlasTexture),y.texImage2D(y.TEXTURE_2D,0,y.RGBA,g.width,g.height,0,y.RGBA,y.UNSIGNED_BYTE,g.data),y.bindTexture(y.TEXTURE_2D,null),this.atlasNeedsUpdate=!1}}}},{key:"setUniforms",value:function(y,b){var g=b.gl,m=b.uniformLocations;g.uniformMatrix3fv(m.u_matrix,!1,y.matrix),g.uniform1f(m.u_sizeRatio,y.sizeRatio),g.uniform1f(m.u_correctionRatio,y.correctionRatio),g.uniform1f(m.u_cameraAngle,y.cameraAngle),g.uniform2f(m.u_resolution,y.width*y.pixelRatio,y.height*y.pixelRatio);var _=this.atlasManager.getTextures();_.length>0?g.uniform2f(m.u_atlasSize,_[0].width,_[0].height):g.uniform2f(m.u_atlasSize,1,1),g.activeTexture(g.TEXTURE0),g.bindTexture(g.TEXTURE_2D,this.atlasTexture),g.uniform1i(m.u_atlas,0),m.u_nodeDataTexture!==void 0&&g.uniform1i(m.u_nodeDataTexture,y.nodeDataTextureUnit),m.u_nodeDataTextureWidth!==void 0&&g.uniform1i(m.u_nodeDataTextureWidth,y.nodeDataTextureWidth),g.uniform1i(m.u_nodeFrameTexture,y.nodeFrameTextureUnit),g.uniform1i(m.u_nodeFrameTextureWidth,y.nodeFrameTextureWidth),g.uniform1f(m.u_gamma,this.gamma),g.uniform1f(m.u_sdfBuffer,this.sdfBuffer),g.uniform1f(m.u_pixelRatio,y.pixelRatio),g.uniform1f(m.u_zoomLabelSizeRatio,1/h.zoomToLabelSizeRatioFunction(y.zoomRatio)),g.uniform1f(m.u_labelPixelSnapping,y.labelPixelSnapping)}},{key:"renderProgram",value:function(y,b){this.updateAtlasTexture(),this.atlasManager.hasPendingGlyphs()&&(this.atlasManager.flush(),this.updateAtlasTexture()),ye(h,"renderProgram",this,3)([y,b])}},{key:"registerFont",value:function(y){var b=arguments.length>1&&arguments[1]!==void 0?arguments[1]:"normal",g=arguments.length>2&&arguments[2]!==void 0?arguments[2]:"normal";return this.atlasManager.registerFont({family:y,weight:b,style:g})}},{key:"getAtlasManager",value:function(){return this.atlasManager}},{key:"measureLabel",value:function(y,b,g){var m=g||this.defaultFontKey;this.atlasManager.ensureGlyphs(y,m),this.atlasManager.hasPendingGlyphs()&&this.atlasManager.flush();var _=0,x=0,T=0,S=O(y),A;try{for(S.s();!(A=S.n()).done;){var E=A.value,D=E.codePointAt(0);if(D!==void 0){var k=this.atlasManager.getGlyph(D,m);k&&(_+=k.advance,x=Math.max(x,k.bearingY),T=Math.max(T,k.atlasHeight-k.bearingY))}}}catch(R){S.e(R)}finally{S.f()}var P=b/this.atlasFontSize;return{width:_*P,height:b,textHeight:(x+T)*P}}},{key:"ensureGlyphsReady",value:function(y,b){var g=b||this.defaultFontKey,m=O(y),_;try{for(m.s();!(_=m.n()).done;){var x=_.value;this.atlasManager.ensureGlyphs(x,g)}}catch(T){m.e(T)}finally{m.f()}this.atlasManager.flush()}},{key:"kill",value:function(){var y=this.normalProgram.gl;this.atlasTexture&&(y.deleteTexture(this.atlasTexture),this.atlasTexture=null),this.atlasManager.destroy(),this.labelGlyphCache.clear(),ye(h,"kill",this,3)([])}}])})(nl);return w(f,"labelMargin",l),w(f,"zoomToLabelSizeRatioFunction",d),new f(a,n,e)}var of=`#version 300 es
precision highp float;

in float v_edgeDist;

// R32F target: only the .r channel is stored.
out vec4 fragColor;

void main() {
  fragColor = vec4(v_edgeDist, 0.0, 0.0, 0.0);
}
`;function sf(a,n,e){var t=ii(a),r=Ln(a).map(function(v){return"uniform ".concat(v.type," ").concat(v.name,";")}).join(`
`),i=Lh(a,e),o=i.code,s=i.multiShape,l=jt(a,n),d=Object.keys(l.specs).map(function(v){return"float v_".concat(v,";")}).join(`
`),c=Ht(l,{varPrefix:"nodeAttr",baseTexelExpr:"nodeIdx * u_layerAttributeTexelsPerNode",textureWidthUniform:"u_layerAttributeTextureWidth",textureSamplerUniform:"u_layerAttributeTexture"}),f=c.fetchCode,p=c.varyingAssignments,h=`#version 300 es
precision highp float;

uniform float u_cameraAngle;
uniform sampler2D u_nodeDataTexture;
uniform int u_nodeDataTextureWidth;
uniform float u_frameTextureWidth;
uniform float u_frameTextureHeight;
uniform sampler2D u_layerAttributeTexture;
uniform int u_layerAttributeTextureWidth;
uniform int u_layerAttributeTexelsPerNode;
`.concat(r,`

in float a_nodeIndex;     // node-data texture index (also the target frame texel)
in float a_positionMode;  // 0=right 1=left 2=above 3=below 4=over
in float a_labelAngle;    // intrinsic label angle (radians)

out float v_edgeDist;

// Shape attributes (plain globals: this pass is vertex-only)
`).concat(d,`

`).concat(tt,`
`).concat(Tt,`
`).concat(t,`
`).concat(o,`
`).concat(Zs,`

void main() {
  int nodeIdx = int(a_nodeIndex);
`).concat(f,`
`).concat(p,`
  `).concat(s?`// Multi-shape: the shape id lives in the node-data texture's .w channel:
  g_shapeId = int(readNodeData(u_nodeDataTexture, u_nodeDataTextureWidth, nodeIdx).w);`:"// Single-shape mode, shape id not needed",`

  // Per-node rotation alignment (0 = viewport, 1 = graph).
  vec4 nodeFlags = readNodeFlags(u_nodeDataTexture, u_nodeDataTextureWidth, nodeIdx);
  float nodeRotation = nodeFlags.r;
  float labelRotation = nodeFlags.g;

  // Effective angle: intrinsic (style-given) plus the camera angle when the label
  // is graph-aligned. The companions place the box at this same angle.
  float effectiveAngle = a_labelAngle - labelRotation * u_cameraAngle;

  // The "over" mode (4) sits on the node center, so it has no edge distance.
  float edgeDist = 0.0;
  if (a_positionMode < 4.0) {
    vec2 screenDir = getLabelDirection(a_positionMode);
    // Rotate by the effective label angle. Inlined rather than via rotate2D()
    // because the shape SDFs (getShapeGLSLForShapes) already define that helper
    // for multi-shape programs, and redefining it would be a GLSL error.
    float ea_c = cos(effectiveAngle);
    float ea_s = sin(effectiveAngle);
    vec2 rotatedScreenDir = mat2(ea_c, -ea_s, ea_s, ea_c) * screenDir;
    // Screen (Y-down) -> SDF (Y-up).
    vec2 sdfDir = vec2(rotatedScreenDir.x, -rotatedScreenDir.y);
    // Counter-rotate into the shape's local frame for graph-aligned nodes, so the
    // boundary is queried against the shape's actual on-screen orientation.
    float nodeCa = -u_cameraAngle * nodeRotation;
    float nc = cos(nodeCa), ns = sin(nodeCa);
    sdfDir = mat2(nc, -ns, ns, nc) * sdfDir;
    edgeDist = findEdgeDistance(sdfDir, 1.0);
  }
  v_edgeDist = edgeDist;

  // Scatter to this node's texel center in the frame texture.
  float x = mod(a_nodeIndex, u_frameTextureWidth);
  float y = floor(a_nodeIndex / u_frameTextureWidth);
  vec2 ndc = (vec2(x, y) + 0.5) / vec2(u_frameTextureWidth, u_frameTextureHeight) * 2.0 - 1.0;
  gl_Position = vec4(ndc, 0.0, 1.0);
  gl_PointSize = 1.0;
}
`);return h}var al=(function(){function a(n,e){J(this,a),w(this,"uniformLocations",{});var t=e.shapes,r=e.layers,i=e.shapeGlobalIds;if(t.length===0)throw new Error("NodeLabelFramePass: at least one shape must be provided");this.gl=n,this.shapeUniforms=Ln(t),this.hasAttributeData=Object.keys(jt(t,r).offsets).length>0,this.vertexShader=ni(n,sf(t,r,i)),this.fragmentShader=ai(n,of),this.program=ri(n,[this.vertexShader,this.fragmentShader]);var o=["u_cameraAngle","u_nodeDataTexture","u_nodeDataTextureWidth","u_frameTextureWidth","u_frameTextureHeight","u_layerAttributeTexture","u_layerAttributeTextureWidth","u_layerAttributeTexelsPerNode"].concat(q(this.shapeUniforms.map(function(g){return g.name}))),s=O(o),l;try{for(s.s();!(l=s.n()).done;){var d=l.value;this.uniformLocations[d]=n.getUniformLocation(this.program,d)}}catch(g){s.e(g)}finally{s.f()}var c=a.FLOATS_PER_POINT*4;this.vao=n.createVertexArray(),this.buffer=n.createBuffer(),n.bindVertexArray(this.vao),n.bindBuffer(n.ARRAY_BUFFER,this.buffer);var f=O([["a_nodeIndex",0],["a_positionMode",4],["a_labelAngle",8]]),p;try{for(f.s();!(p=f.n()).done;){var h=ae(p.value,2),v=h[0],y=h[1],b=n.getAttribLocation(this.program,v);b>=0&&(n.enableVertexAttribArray(b),n.vertexAttribPointer(b,1,n.FLOAT,!1,c,y))}}catch(g){f.e(g)}finally{f.f()}n.bindVertexArray(null)}return ee(a,[{key:"run",value:function(e,t,r,i,o){if(t!==0){var s=this.gl;s.useProgram(this.program),s.bindVertexArray(this.vao),s.bindBuffer(s.ARRAY_BUFFER,this.buffer),s.bufferData(s.ARRAY_BUFFER,e.subarray(0,t*a.FLOATS_PER_POINT),s.DYNAMIC_DRAW);var l=this.uniformLocations;s.uniform1f(l.u_cameraAngle,i.cameraAngle),s.uniform1i(l.u_nodeDataTexture,i.nodeDataTextureUnit),s.uniform1i(l.u_nodeDataTextureWidth,i.nodeDataTextureWidth),s.uniform1f(l.u_frameTextureWidth,r.getTextureWidth()),s.uniform1f(l.u_frameTextureHeight,r.getTextureHeight()),this.hasAttributeData&&o&&(o.bind(lt),l.u_layerAttributeTexture&&s.uniform1i(l.u_layerAttributeTexture,lt),l.u_layerAttributeTextureWidth&&s.uniform1i(l.u_layerAttributeTextureWidth,o.getTextureWidth()),l.u_layerAttributeTexelsPerNode&&s.uniform1i(l.u_layerAttributeTexelsPerNode,o.getTexelsPerItem()));var d=O(this.shapeUniforms),c;try{for(d.s();!(c=d.n()).done;){var f=c.value;di(s,this.uniformLocations[f.name],f)}}catch(p){d.e(p)}finally{d.f()}r.bindAsRenderTarget(),s.disable(s.BLEND),s.disable(s.DEPTH_TEST),s.drawArrays(s.POINTS,0,t),s.bindFramebuffer(s.FRAMEBUFFER,null),s.bindVertexArray(null)}}},{key:"kill",value:function(){var e=this.gl;e.deleteProgram(this.program),e.deleteShader(this.vertexShader),e.deleteShader(this.fragmentShader),e.deleteBuffer(this.buffer),e.deleteVertexArray(this.vao)}}])})();w(al,"FLOATS_PER_POINT",3);function rl(a,n,e,t,r){var i,o=t.label,s=o===void 0?{}:o,l=t.shapes;if(l.length===0)throw new Error("createNodeProgram: at least one shape must be provided in 'shapes'");var d={},c=[],f;l.forEach(function(A,E){var D=xh(A);E===0&&(f=D),d[A.name]=E,c[E]=Dn(D)});var p=q(t.layers),h=zs({shapes:l,layers:p,shapeGlobalIds:l.length>1?c:void 0,antialias:r}),v=rf(a,null,e,{label:s}),y=jh(a,null,e,{shapes:l,layers:p,getAttributeTexture:function(){return S.getAttributeTexture()},label:s,shapeGlobalIds:l.length>1?c:void 0}),b=Yh(a,n,e,{label:s}),g=t.labelAttachments&&Object.keys(t.labelAttachments).length>0?zh(a,null,e,{label:s}):null,m=new al(a,{shapes:l,layers:p,shapeGlobalIds:l.length>1?c:void 0}),_=Ha(l,p),x=Be(_),T=(i=(function(A){function E(D,k,P){var R;J(this,E),R=he(this,E,[D,k,P]),w(R,"layerLifecycles",new Map),w(R,"layersNeedingRegeneration",new Set),w(R,"attrDescriptors",[]),R._pickingBuffer=k;var C=T.layerTextures.get(D);C||(C=new Wa(D,x),T.layerTextures.set(D,C)),R.layerAttributeTexture=C;var L=T.textureRefCounts.get(D)||0;T.textureRefCounts.set(D,L+1),R.packedAttributeData=new Float32Array(x.floatsPerItem),p.forEach(function(G,N){if(G.lifecycle){var F={gl:D,renderer:{refresh:function(){return P.refresh()}},getUniformLocation:function(X){return D.getUniformLocation(R.normalProgram.program,X)},requestShaderRegeneration:function(){R.layersNeedingRegeneration.add(N)},requestRefresh:function(){P.refresh()}},I=G.lifecycle(F);R.layerLifecycles.set(N,I)}}),R.layerLifecycles.forEach(function(G){var N;(N=G.init)===null||N===void 0||N.call(G)});var M=new Map;return R.layerLifecycles.forEach(function(G,N){G.getAttributeData&&M.set(N,G)}),R.attrDescriptors=Ba(_,x,M),R}return fe(E,A),ee(E,[{key:"getDefinition",value:function(){var k=WebGL2RenderingContext,P=k.FLOAT,R=k.TRIANGLE_STRIP;return{VERTICES:4,VERTEX_SHADER_SOURCE:h.vertexShader,FRAGMENT_SHADER_SOURCE:h.fragmentShader,METHOD:R,UNIFORMS:h.uniforms,ATTRIBUTES:h.attributes,CONSTANT_ATTRIBUTES:[{name:"a_quadCorner",size:2,type:P}],CONSTANT_DATA:[[-1,-1],[1,-1],[-1,1],[1,1]]}}},{key:"maybeRegenerateShaders",value:function(){var k=this;if(this.layersNeedingRegeneration.size!==0){p=p.map(function(N,F){if(k.layersNeedingRegeneration.has(F)){var I=k.layerLifecycles.get(F);if(I!=null&&I.regenerate){var z=I.regenerate();return W(W({},z),{},{lifecycle:N.lifecycle})}}return N}),this.layersNeedingRegeneration.clear(),h=zs({shapes:l,layers:p,shapeGlobalIds:l.length>1?c:void 0,antialias:this.renderer.getSetting("antialiasNodes")});var P=this.normalProgram.gl,R=this.normalProgram,C=R.program,L=R.buffer,M=R.vertexShader,G=R.fragmentShader;P.deleteProgram(C),P.deleteBuffer(L),P.deleteShader(M),P.deleteShader(G),this.normalProgram=this.getProgramInfo("normal",P,h.vertexShader,h.fragmentShader,this._pickingBuffer)}}},{key:"allocateNode",value:function(k){this.layerAttributeTexture.allocate(k)}},{key:"freeNode",value:function(k){this.layerAttributeTexture.free(k)}},{key:"getAttributeTexture",value:function(){return this.layerAttributeTexture}},{key:"uploadLayerTexture",value:function(){this.layerAttributeTexture.upload()}},{key:"process",value:function(k,P,R,C,L){var M=P*this.STRIDE;if(R.visibility==="hidden"){for(var G=M+this.STRIDE;M<G;M++)this.floats[M]=0;this.floats[P*this.STRIDE]=Js;return}this.processVisibleItem(zt(k),M,R,C,L)}},{key:"processVisibleItem",value:function(k,P,R,C,L){var M,G=this.floats,N=this.ints;if(G[P++]=C,N[P++]=k,G[P++]=(M=R.opacity)!==null&&M!==void 0?M:1,x.floatsPerItem!==0){var F=this.packedAttributeData;Ua(this.attrDescriptors,R,F,R.color,this.layerLifecycles,0),this.layerAttributeTexture.updateAllAttributes(L,F)}}},{key:"setUniforms",value:function(k,P){var R=this,C=P.gl,L=P.uniformLocations;L.u_matrix&&C.uniformMatrix3fv(L.u_matrix,!1,k.matrix),L.u_sizeRatio&&C.uniform1f(L.u_sizeRatio,k.sizeRatio),L.u_correctionRatio&&C.uniform1f(L.u_correctionRatio,k.correctionRatio),L.u_pickingPadding&&C.uniform1f(L.u_pickingPadding,k.nodePickingPadding),L.u_cameraAngle&&C.uniform1f(L.u_cameraAngle,k.cameraAngle),L.u_nodeDataTexture&&C.uniform1i(L.u_nodeDataTexture,k.nodeDataTextureUnit),L.u_nodeDataTextureWidth&&C.uniform1i(L.u_nodeDataTextureWidth,k.nodeDataTextureWidth),L.u_layerAttributeTexture&&(this.layerAttributeTexture.bind(lt),C.uniform1i(L.u_layerAttributeTexture,lt)),L.u_layerAttributeTextureWidth&&C.uniform1i(L.u_layerAttributeTextureWidth,this.layerAttributeTexture.getTextureWidth()),L.u_layerAttributeTexelsPerNode&&C.uniform1i(L.u_layerAttributeTexelsPerNode,this.layerAttributeTexture.getTexelsPerItem()),l.forEach(function(M){M.uniforms.forEach(function(G){R.setTypedUniform(G,P)})}),p.forEach(function(M){M.uniforms.forEach(function(G){R.setTypedUniform(G,P)})})}},{key:"render",value:function(k,P,R){this.maybeRegenerateShaders(),ye(E,"render",this,3)([k,P,R])}},{key:"renderProgram",value:function(k,P){var R=P.gl,C=P.program;R.useProgram(C),P===this.normalProgram&&this.layerLifecycles.forEach(function(L){var M;(M=L.beforeRender)===null||M===void 0||M.call(L)}),ye(E,"renderProgram",this,3)([k,P])}},{key:"kill",value:function(){this.layerLifecycles.forEach(function(R){var C;(C=R.kill)===null||C===void 0||C.call(R)}),this.layerLifecycles.clear();var k=this.normalProgram.gl,P=(T.textureRefCounts.get(k)||1)-1;P<=0?(this.layerAttributeTexture.kill(),T.layerTextures.delete(k),T.textureRefCounts.delete(k)):T.textureRefCounts.set(k,P),ye(E,"kill",this,3)([])}}])})(St),w(i,"layerTextures",new WeakMap),w(i,"textureRefCounts",new WeakMap),i),S=new T(a,null,e);return{nodeProgram:S,labelProgram:v,backdropProgram:y,labelBackgroundProgram:b,attachmentProgram:g,framePass:m,shapeSlug:f,shapeNameToIndex:l.length>1?d:void 0,shapeGlobalIds:l.length>1?c:void 0}}var dt=6;function Pn(a){var n=a.offsets,e=a.specs,t=a.floatsPerItem,r=Object.keys(n);if(r.length===0||t===0)return{uniformDeclarations:"",uniformNames:[],vertexVaryingDeclarations:"",fragmentVaryingDeclarations:"",fetchCode:"",varyingAssignments:""};var i=`
uniform sampler2D u_edgeAttributeTexture;
uniform int u_edgeAttributeTextureWidth;
uniform int u_edgeAttributeTexelsPerEdge;`,o=["u_edgeAttributeTexture","u_edgeAttributeTextureWidth","u_edgeAttributeTexelsPerEdge"],s=r.map(function(h){var v=e[h].size===1?"float":"vec".concat(e[h].size);return"".concat(v," v_").concat(h,";")}),l=s.map(function(h){return"out ".concat(h)}).join(`
`),d=s.map(function(h){return"in ".concat(h)}).join(`
`),c=Ht(a,{varPrefix:"attr",baseTexelExpr:"edgeIdx * u_edgeAttributeTexelsPerEdge",textureWidthUniform:"u_edgeAttributeTextureWidth",textureSamplerUniform:"u_edgeAttributeTexture"}),f=c.fetchCode,p=c.varyingAssignments;return{uniformDeclarations:i,uniformNames:o,vertexVaryingDeclarations:l,fragmentVaryingDeclarations:d,fetchCode:f,varyingAssignments:p}}function lf(a){return`
float findSourceClampT_`.concat(a,`(vec2 source, float sourceSize, int sourceShapeId, float sourceRotateAlign, vec2 target, float margin) {
  float lo = 0.0, hi = 0.5;
  float nodeExtent = sourceSize * u_correctionRatio / u_sizeRatio * 2.0;
  float effectiveSize = 1.0 - u_correctionRatio / nodeExtent;

  // Counter-rotate the query point so viewport-aligned nodes (rotateAlign=0) are
  // clamped against their on-screen orientation; graph-aligned nodes skip it.
  float ca = u_cameraAngle * (1.0 - sourceRotateAlign);
  float rc = cos(ca), rs = sin(ca);
  mat2 rot = mat2(rc, -rs, rs, rc);

  for (int i = 0; i < 12; i++) {
    float mid = (lo + hi) * 0.5;
    vec2 pos = path_`).concat(a,`_position(mid, source, target);
    vec2 localPos = rot * ((pos - source) / nodeExtent);
    float sdf = querySDF(sourceShapeId, localPos, effectiveSize);
    if (sdf < 0.0) lo = mid;
    else hi = mid;
  }

  float pathLen = path_`).concat(a,`_length(source, target);
  float marginT = (margin * u_correctionRatio / u_sizeRatio) / pathLen;
  return (lo + hi) * 0.5 + marginT;
}
`)}function df(a){return`
float findTargetClampT_`.concat(a,`(vec2 source, vec2 target, float targetSize, int targetShapeId, float targetRotateAlign, float margin) {
  float lo = 0.5, hi = 1.0;
  float nodeExtent = targetSize * u_correctionRatio / u_sizeRatio * 2.0;
  float effectiveSize = 1.0 - u_correctionRatio / nodeExtent;

  // See findSourceClampT_ for the rotation rationale.
  float ca = u_cameraAngle * (1.0 - targetRotateAlign);
  float rc = cos(ca), rs = sin(ca);
  mat2 rot = mat2(rc, -rs, rs, rc);

  for (int i = 0; i < 12; i++) {
    float mid = (lo + hi) * 0.5;
    vec2 pos = path_`).concat(a,`_position(mid, source, target);
    vec2 localPos = rot * ((pos - target) / nodeExtent);
    float sdf = querySDF(targetShapeId, localPos, effectiveSize);
    if (sdf < 0.0) hi = mid;
    else lo = mid;
  }

  float pathLen = path_`).concat(a,`_length(source, target);
  float marginT = (margin * u_correctionRatio / u_sizeRatio) / pathLen;
  return (lo + hi) * 0.5 - marginT;
}
`)}function il(a){return`
// Auto-generated numerical tangent (from position via finite differences)
vec2 path_`.concat(a,`_tangent(float t, vec2 source, vec2 target) {
  float epsilon = 0.001;
  float t1 = max(0.0, t - epsilon);
  float t2 = min(1.0, t + epsilon);
  vec2 p1 = path_`).concat(a,`_position(t1, source, target);
  vec2 p2 = path_`).concat(a,`_position(t2, source, target);
  return normalize(p2 - p1);
}

// Auto-generated normal (perpendicular to tangent)
vec2 path_`).concat(a,`_normal(float t, vec2 source, vec2 target) {
  vec2 tangent = path_`).concat(a,`_tangent(t, source, target);
  return vec2(-tangent.y, tangent.x);
}
`)}function uf(a){return`
// Auto-generated path length (samples position 16 times)
float path_`.concat(a,`_length(vec2 source, vec2 target) {
  float len = 0.0;
  vec2 prev = path_`).concat(a,`_position(0.0, source, target);
  for (int i = 1; i <= 16; i++) {
    float t = float(i) / 16.0;
    vec2 curr = path_`).concat(a,`_position(t, source, target);
    len += length(curr - prev);
    prev = curr;
  }
  return len;
}
`)}function cf(a){return`
// Auto-generated closest_t (coarse sample + ternary search)
float path_`.concat(a,`_closest_t(vec2 p, vec2 source, vec2 target) {
  // Coarse search: find best among 10 samples
  float bestT = 0.0;
  float bestDist = 1e10;
  for (int i = 0; i <= 10; i++) {
    float t = float(i) / 10.0;
    vec2 pos = path_`).concat(a,`_position(t, source, target);
    float d = length(p - pos);
    if (d < bestDist) {
      bestDist = d;
      bestT = t;
    }
  }

  // Refine with ternary search
  float lo = max(0.0, bestT - 0.1);
  float hi = min(1.0, bestT + 0.1);
  for (int i = 0; i < 10; i++) {
    float mid1 = lo + (hi - lo) / 3.0;
    float mid2 = hi - (hi - lo) / 3.0;
    float d1 = length(p - path_`).concat(a,`_position(mid1, source, target));
    float d2 = length(p - path_`).concat(a,`_position(mid2, source, target));
    if (d1 < d2) {
      hi = mid2;
    } else {
      lo = mid1;
    }
  }
  return (lo + hi) * 0.5;
}
`)}function hf(a){return`
// Auto-generated signed distance (via closest_t + normal)
float path_`.concat(a,`_distance(vec2 p, vec2 source, vec2 target) {
  float closestT = path_`).concat(a,`_closest_t(p, source, target);
  vec2 closest = path_`).concat(a,`_position(closestT, source, target);
  vec2 diff = p - closest;
  float dist = length(diff);
  if (dist < 0.0001) return 0.0;

  // Get normal at closest point
  vec2 normal = path_`).concat(a,`_normal(closestT, source, target);
  return dist * sign(dot(diff, normal));
}
`)}function ff(a){return`
// Auto-generated t_at_distance (binary search)
float path_`.concat(a,`_t_at_distance(float targetDist, vec2 source, vec2 target) {
  if (targetDist <= 0.0) return 0.0;

  float totalLen = path_`).concat(a,`_length(source, target);
  if (targetDist >= totalLen) return 1.0;

  // Binary search for t
  float lo = 0.0, hi = 1.0;
  for (int i = 0; i < 12; i++) {
    float mid = (lo + hi) * 0.5;

    // Compute arc length from 0 to mid
    float arcLen = 0.0;
    vec2 prev = path_`).concat(a,`_position(0.0, source, target);
    for (int j = 1; j <= 8; j++) {
      float t = mid * float(j) / 8.0;
      vec2 curr = path_`).concat(a,`_position(t, source, target);
      arcLen += length(curr - prev);
      prev = curr;
    }

    if (arcLen < targetDist) {
      lo = mid;
    } else {
      hi = mid;
    }
  }
  return (lo + hi) * 0.5;
}
`)}function Ia(a,n){var e=new RegExp("\\b(float|vec[234]|void|int|bool)\\s+".concat(n,"\\s*\\("));return e.test(a)}function ol(a,n){var e=[];return Ia(n,"path_".concat(a,"_length"))||e.push(uf(a)),Ia(n,"path_".concat(a,"_closest_t"))||e.push(cf(a)),Ia(n,"path_".concat(a,"_distance"))||e.push(hf(a)),Ia(n,"path_".concat(a,"_t_at_distance"))||e.push(ff(a)),e.length>0?`
// ============================================================================
// Auto-generated fallback functions (path only provided position)
// ============================================================================
`.concat(e.join(`
`)):""}function sl(a){var n,e,t,r=a.paths,i=a.layers,o=(n=a.extremities)!==null&&n!==void 0?n:[];if(r.length===0)throw new Error("At least one path is required in 'paths'");if(i.length===0)throw new Error("At least one layer is required in 'layers'");var s=(e=a.defaultHead)!==null&&e!==void 0?e:"none",l=(t=a.defaultTail)!==null&&t!==void 0?t:"none";return{paths:r,extremities:o,layers:i,path:r[0],layer:i[0],defaultHead:s,defaultTail:l}}var ll=WebGL2RenderingContext,kn=ll.FLOAT,Bs=ll.UNSIGNED_BYTE;function gf(a,n,e){var t=new Set(["u_matrix","u_sizeRatio","u_correctionRatio","u_zoomRatio","u_pixelRatio","u_cameraAngle","u_minEdgeThickness","u_pickingPadding","u_nodeDataTexture","u_nodeDataTextureWidth","u_edgeDataTexture","u_edgeDataTextureWidth","u_edgeFrameTexture","u_edgeFrameTextureWidth","u_edgeAttributeTexture","u_edgeAttributeTextureWidth","u_edgeAttributeTexelsPerEdge"]),r=new Set(t);return a.forEach(function(i){return i.uniforms.forEach(function(o){return r.add(o.name)})}),n.forEach(function(i){return i.uniforms.forEach(function(o){return r.add(o.name)})}),e.forEach(function(i){return i.uniforms.forEach(function(o){return r.add(o.name)})}),Array.from(r)}function ui(a){var n=new Set,e=[],t=O(a),r;try{for(t.s();!(r=t.n()).done;){var i=r.value;n.has(i.name)||(n.add(i.name),e.push("// Path: ".concat(i.name)),e.push(i.glsl),e.push(il(i.name)),e.push(ol(i.name,i.glsl)))}}catch(o){t.e(o)}finally{t.f()}return e.join(`

`)}function pf(a){var n=[],e=O(a),t;try{for(e.s();!(t=e.n()).done;){var r=t.value;n.push("// Extremity: ".concat(r.name)),n.push(r.glsl)}}catch(i){e.e(i)}finally{e.f()}return n.join(`

`)}var mf=[{queryName:"queryPathPosition",pathFunc:"position",returnType:"vec2",params:"float t, vec2 source, vec2 target",args:"t, source, target"},{queryName:"queryPathTangent",pathFunc:"tangent",returnType:"vec2",params:"float t, vec2 source, vec2 target",args:"t, source, target"},{queryName:"queryPathNormal",pathFunc:"normal",returnType:"vec2",params:"float t, vec2 source, vec2 target",args:"t, source, target"},{queryName:"queryPathLength",pathFunc:"length",returnType:"float",params:"vec2 source, vec2 target",args:"source, target"},{queryName:"queryPathClosestT",pathFunc:"closest_t",returnType:"float",params:"vec2 p, vec2 source, vec2 target",args:"p, source, target"}];function vf(a,n){var e=n.queryName,t=n.pathFunc,r=n.returnType,i=n.params,o=n.args;if(a.length===1)return"".concat(r," ").concat(e,"(int pathId, ").concat(i,`) {
  return path_`).concat(a[0].name,"_").concat(t,"(").concat(o,`);
}`);var s=a.map(function(l,d){return"    case ".concat(d,": return path_").concat(l.name,"_").concat(t,"(").concat(o,");")}).join(`
`);return"".concat(r," ").concat(e,"(int pathId, ").concat(i,`) {
  switch (pathId) {
`).concat(s,`
    default: return path_`).concat(a[0].name,"_").concat(t,"(").concat(o,`);
  }
}`)}function ci(a){return mf.map(function(n){return vf(a,n)}).join(`

`)}function bf(a){if(a.length===1)return`float queryExtremitySDF(int extremityId, vec2 uv, float lengthRatio, float widthRatio) {
  return extremity_`.concat(a[0].name,`(uv, lengthRatio, widthRatio);
}`);var n=a.map(function(e,t){return"    case ".concat(t,": return extremity_").concat(e.name,"(uv, lengthRatio, widthRatio);")}).join(`
`);return`float queryExtremitySDF(int extremityId, vec2 uv, float lengthRatio, float widthRatio) {
  switch (extremityId) {
`.concat(n,`
    default: return extremity_`).concat(a[0].name,`(uv, lengthRatio, widthRatio);
  }
}`)}function yf(a){var n=[],e=O(a),t;try{for(e.s();!(t=e.n()).done;){var r=t.value;n.push(lf(r.name)),n.push(df(r.name))}}catch(s){e.e(s)}finally{e.f()}if(a.length===1)n.push(`
float queryFindSourceClampT(int pathId, vec2 source, float sourceSize, int sourceShapeId, float sourceRotateAlign, vec2 target, float margin) {
  return findSourceClampT_`.concat(a[0].name,`(source, sourceSize, sourceShapeId, sourceRotateAlign, target, margin);
}

float queryFindTargetClampT(int pathId, vec2 source, vec2 target, float targetSize, int targetShapeId, float targetRotateAlign, float margin) {
  return findTargetClampT_`).concat(a[0].name,`(source, target, targetSize, targetShapeId, targetRotateAlign, margin);
}`));else{var i=a.map(function(s,l){return"    case ".concat(l,": return findSourceClampT_").concat(s.name,"(source, sourceSize, sourceShapeId, sourceRotateAlign, target, margin);")}).join(`
`),o=a.map(function(s,l){return"    case ".concat(l,": return findTargetClampT_").concat(s.name,"(source, target, targetSize, targetShapeId, targetRotateAlign, margin);")}).join(`
`);n.push(`
float queryFindSourceClampT(int pathId, vec2 source, float sourceSize, int sourceShapeId, float sourceRotateAlign, vec2 target, float margin) {
  switch (pathId) {
`.concat(i,`
    default: return findSourceClampT_`).concat(a[0].name,`(source, sourceSize, sourceShapeId, sourceRotateAlign, target, margin);
  }
}

float queryFindTargetClampT(int pathId, vec2 source, vec2 target, float targetSize, int targetShapeId, float targetRotateAlign, float margin) {
  switch (pathId) {
`).concat(o,`
    default: return findTargetClampT_`).concat(a[0].name,`(source, target, targetSize, targetShapeId, targetRotateAlign, margin);
  }
}`))}return n.join(`

`)}function _f(a,n,e,t,r){var i=Be([].concat(q(a),q(e))),o=Pn(i),s=jt(t,r),l=Object.keys(s.offsets),d=function(A){var E=s.specs[A].size;return E===1?"float":"vec".concat(E)},c=l.map(function(S){return"".concat(d(S)," v_source_").concat(S,`;
`).concat(d(S)," v_target_").concat(S,";")}).join(`
`),f=Ht(s,{varPrefix:"srcNodeAttr",baseTexelExpr:"srcIdx * u_layerAttributeTexelsPerNode",textureWidthUniform:"u_layerAttributeTextureWidth",textureSamplerUniform:"u_layerAttributeTexture",outputPrefix:"v_source_"}),p=Ht(s,{varPrefix:"tgtNodeAttr",baseTexelExpr:"tgtIdx * u_layerAttributeTexelsPerNode",textureWidthUniform:"u_layerAttributeTextureWidth",textureSamplerUniform:"u_layerAttributeTexture",outputPrefix:"v_target_"}),h=l.map(function(S){return"".concat(d(S)," g_").concat(S,";")}).join(`
`),v=l.map(function(S){return"  g_".concat(S," = v_source_").concat(S,";")}).join(`
`),y=l.map(function(S){return"  g_".concat(S," = v_target_").concat(S,";")}).join(`
`),b=new Set,g=[],m=function(A){b.has(A.name)||(b.add(A.name),g.push("uniform ".concat(A.type," ").concat(A.name,";")))};a.forEach(function(S){return S.uniforms.forEach(m)}),n.forEach(function(S){return S.uniforms.forEach(m)});var _=n.map(function(S){return pe(S.widthFactor)}).join(", "),x=Math.max.apply(Math,q(a.map(function(S){return S.minBodyLengthRatio||0}))),T=`#version 300 es

// Node and edge data textures
uniform sampler2D u_nodeDataTexture;
uniform int u_nodeDataTextureWidth;
uniform sampler2D u_edgeDataTexture;
uniform int u_edgeDataTextureWidth;

// Edge attribute texture (for path-specific attributes like curvature)
`.concat(o.uniformDeclarations,`

// Node attribute texture (for node shape attributes)
uniform sampler2D u_layerAttributeTexture;
uniform int u_layerAttributeTextureWidth;
uniform int u_layerAttributeTexelsPerNode;

// Render params needed for clamping
uniform float u_sizeRatio;
uniform float u_correctionRatio;
uniform float u_cameraAngle;
uniform float u_minEdgeThickness;

// Edge-frame texture dimensions, for scattering each point to its texel
uniform float u_frameTextureWidth;
uniform float u_frameTextureHeight;

// Custom path/extremity uniforms
`).concat(g.join(`
`),`

// Path attribute varyings — assigned so path functions can read them as globals
`).concat(o.vertexVaryingDeclarations,`

// Node size varyings — read by path functions like loop
out float v_sourceNodeSize;
out float v_targetNodeSize;

// Node shape attributes per endpoint, and the ones querySDF reads
`).concat(c,`
`).concat(h,`

// Scattered output written to the edge-frame texel: [tStart, tEnd, straightenFactor, pathLength]
out vec4 v_clamp;

// Extremity width factor array (needed for extremityScale computation)
const float EXTREMITY_WIDTH_FACTORS[`).concat(n.length,"] = float[](").concat(_,`);

// Node-data fetch helpers (geometry texel + rotation-flags texel)
`).concat(tt,`
`).concat(Tt,`

// Shape SDFs for node boundary clamping
`).concat(Th(),`
`).concat(Sh(new Set(l)),`

// Path functions
`).concat(ui(a),`
`).concat(ci(a),`
`).concat(yf(a),`

void main() {
  // One point per edge-data row; the row index is the edge-frame texel target.
  int edgeIdx = gl_VertexID;
  int texel0Idx = edgeIdx * 2;
  int texel1Idx = edgeIdx * 2 + 1;
  ivec2 edgeTexCoord0 = ivec2(texel0Idx % u_edgeDataTextureWidth, texel0Idx / u_edgeDataTextureWidth);
  ivec2 edgeTexCoord1 = ivec2(texel1Idx % u_edgeDataTextureWidth, texel1Idx / u_edgeDataTextureWidth);
  vec4 edgeData0 = texelFetch(u_edgeDataTexture, edgeTexCoord0, 0);
  vec4 edgeData1 = texelFetch(u_edgeDataTexture, edgeTexCoord1, 0);

  int srcIdx = int(edgeData0.x);
  int tgtIdx = int(edgeData0.y);
  float a_thickness = edgeData0.z;
  float a_headLengthRatio = edgeData1.x;
  float a_tailLengthRatio = edgeData1.y;
  int pathId = int(edgeData1.z);
  int extremityPacked = int(edgeData1.w);
  int headId = extremityPacked >> 4;
  int tailId = extremityPacked & 15;

  // Fetch path/layer attributes and assign to path-function globals
`).concat(o.fetchCode,`
`).concat(o.varyingAssignments,`

  // Fetch node shape attributes for both endpoints
`).concat(f.fetchCode,`
`).concat(f.varyingAssignments,`
`).concat(p.fetchCode,`
`).concat(p.varyingAssignments,`

  // Fetch node geometry (texel 0) and rotation flags (texel 1).
  vec4 srcNodeData = readNodeData(u_nodeDataTexture, u_nodeDataTextureWidth, srcIdx);
  vec4 tgtNodeData = readNodeData(u_nodeDataTexture, u_nodeDataTextureWidth, tgtIdx);

  vec2 a_source = srcNodeData.xy;
  vec2 a_target = tgtNodeData.xy;
  float a_sourceSize = srcNodeData.z;
  float a_targetSize = tgtNodeData.z;
  float a_sourceShapeId = srcNodeData.w;
  float a_targetShapeId = tgtNodeData.w;
  // Per-node rotation alignment (0 = viewport, 1 = graph), for boundary clamping.
  float a_sourceRotateAlign = readNodeFlags(u_nodeDataTexture, u_nodeDataTextureWidth, srcIdx).r;
  float a_targetRotateAlign = readNodeFlags(u_nodeDataTexture, u_nodeDataTextureWidth, tgtIdx).r;

  v_sourceNodeSize = a_sourceSize;
  v_targetNodeSize = a_targetSize;

  float headLengthRatio = a_headLengthRatio;
  float tailLengthRatio = a_tailLengthRatio;
  float headWidthFactor = EXTREMITY_WIDTH_FACTORS[headId];
  float tailWidthFactor = EXTREMITY_WIDTH_FACTORS[tailId];
  float minBodyLengthRatio = `).concat(pe(x),`;

  // Thickness in WebGL units (needed to compute clamping margin and extremity lengths)
  float pixelsThickness = max(a_thickness, u_minEdgeThickness * u_sizeRatio);
  float webGLThickness = pixelsThickness * u_correctionRatio / u_sizeRatio;

  // SDF clamping: find where the edge body meets the node boundaries. Always
  // searched (ungated) so labels get a true boundary clamp; the body re-applies
  // its extremity gating in-shader.
`).concat(v,`
  float tStart = queryFindSourceClampT(pathId, a_source, a_sourceSize, int(a_sourceShapeId), a_sourceRotateAlign, a_target, 0.0);
`).concat(y,`
  float tEnd = queryFindTargetClampT(pathId, a_source, a_target, a_targetSize, int(a_targetShapeId), a_targetRotateAlign, 0.0);

  // straightenFactor (frame .z) is consumed only by the body, which runs to the
  // node center when an extremity is absent. Derive the straightening math from
  // these gated clamps — not the ungated boundary ones above — so it matches the
  // geometry it drives. The ungated tStart/tEnd remain what labels read.
  float bodyTStart = tailLengthRatio > 0.0 ? tStart : 0.0;
  float bodyTEnd = headLengthRatio > 0.0 ? tEnd : 1.0;

  // Path length and zone boundaries (needed for straightening check)
  float pathLength = queryPathLength(pathId, a_source, a_target);
  float visibleLength = pathLength * (bodyTEnd - bodyTStart);

  float headLength = headLengthRatio * webGLThickness;
  float tailLength = tailLengthRatio * webGLThickness;
  float minBodyLength = minBodyLengthRatio * webGLThickness;

  float totalNeededLength = headLength + tailLength + minBodyLength;
  float extremityScale = 1.0;
  if (totalNeededLength > visibleLength && totalNeededLength > 0.0001) {
    extremityScale = visibleLength / totalNeededLength;
    headLength *= extremityScale;
    tailLength *= extremityScale;
  }

  float headLengthT = pathLength > 0.0001 ? headLength / pathLength : 0.0;
  float tailLengthT = pathLength > 0.0001 ? tailLength / pathLength : 0.0;

  float tTailEnd = bodyTStart + tailLengthT;
  float tHeadStart = bodyTEnd - headLengthT;
  if (tTailEnd > tHeadStart) {
    float mid = (bodyTStart + bodyTEnd) * 0.5;
    tTailEnd = mid;
    tHeadStart = mid;
  }

  // Straighten factor: blend toward straight line when path twists in extremity zones
  float straightenFactor = 0.0;
  {
    float maxDeviation = 0.0;
    if (tailLengthT > 0.0001) {
      vec2 tailTang = queryPathTangent(pathId, tTailEnd, a_source, a_target);
      vec2 tailChord = queryPathPosition(pathId, bodyTStart, a_source, a_target)
                     - queryPathPosition(pathId, tTailEnd, a_source, a_target);
      float tailChordLen = length(tailChord);
      if (tailChordLen > 0.0001) {
        maxDeviation = max(maxDeviation, 1.0 - dot(-tailTang, tailChord / tailChordLen));
      }
    }
    if (headLengthT > 0.0001) {
      vec2 headTang = queryPathTangent(pathId, tHeadStart, a_source, a_target);
      vec2 headChord = queryPathPosition(pathId, bodyTEnd, a_source, a_target)
                     - queryPathPosition(pathId, tHeadStart, a_source, a_target);
      float headChordLen = length(headChord);
      if (headChordLen > 0.0001) {
        maxDeviation = max(maxDeviation, 1.0 - dot(headTang, headChord / headChordLen));
      }
    }
    straightenFactor = smoothstep(0.035, 0.5, maxDeviation);
  }

  // When straightening, blend the ungated tStart/tEnd (the label-facing clamps)
  // toward straight-line clamp positions.
  if (straightenFactor > 0.001) {
    if (tailLengthRatio > 0.0) {
`).concat(v,`
      float srcExtent = a_sourceSize * u_correctionRatio / u_sizeRatio * 2.0;
      float srcEffective = 1.0 - u_correctionRatio / srcExtent;
      float srcCa = u_cameraAngle * (1.0 - a_sourceRotateAlign);
      mat2 srcRot = mat2(cos(srcCa), -sin(srcCa), sin(srcCa), cos(srcCa));
      float lo = 0.0, hi = 0.5;
      for (int i = 0; i < 12; i++) {
        float mid = (lo + hi) * 0.5;
        vec2 pos = mix(a_source, a_target, mid);
        vec2 localPos = srcRot * ((pos - a_source) / srcExtent);
        float sdf = querySDF(int(a_sourceShapeId), localPos, srcEffective);
        if (sdf < 0.0) lo = mid; else hi = mid;
      }
      tStart = mix(tStart, (lo + hi) * 0.5, straightenFactor);
    }
    if (headLengthRatio > 0.0) {
`).concat(y,`
      float tgtExtent = a_targetSize * u_correctionRatio / u_sizeRatio * 2.0;
      float tgtEffective = 1.0 - u_correctionRatio / tgtExtent;
      float tgtCa = u_cameraAngle * (1.0 - a_targetRotateAlign);
      mat2 tgtRot = mat2(cos(tgtCa), -sin(tgtCa), sin(tgtCa), cos(tgtCa));
      float lo = 0.5, hi = 1.0;
      for (int i = 0; i < 12; i++) {
        float mid = (lo + hi) * 0.5;
        vec2 pos = mix(a_source, a_target, mid);
        vec2 localPos = tgtRot * ((pos - a_target) / tgtExtent);
        float sdf = querySDF(int(a_targetShapeId), localPos, tgtEffective);
        if (sdf < 0.0) hi = mid; else lo = mid;
      }
      tEnd = mix(tEnd, (lo + hi) * 0.5, straightenFactor);
    }
  }

  v_clamp = vec4(tStart, tEnd, straightenFactor, pathLength);

  // Scatter this point to its edge's texel center in the frame texture.
  float x = mod(float(edgeIdx), u_frameTextureWidth);
  float y = floor(float(edgeIdx) / u_frameTextureWidth);
  vec2 ndc = (vec2(x, y) + 0.5) / vec2(u_frameTextureWidth, u_frameTextureHeight) * 2.0 - 1.0;
  gl_Position = vec4(ndc, 0.0, 1.0);
  gl_PointSize = 1.0;
}
`);return T}var Ma=0,Us=1,Na=2;function xf(a,n,e){var t=[];e&&(t.push([Ma,0,-1],[Ma,0,1]),t.push([Ma,1,-1],[Ma,1,1]));for(var r=0;r<=a;r++){var i=r/a;t.push([Us,i,-1],[Us,i,1])}return n&&(t.push([Na,0,-1],[Na,0,1]),t.push([Na,1,-1],[Na,1,1])),{data:t,attributes:[{name:"a_zone",size:1,type:kn},{name:"a_zoneT",size:1,type:kn},{name:"a_side",size:1,type:kn}],verticesPerEdge:t.length}}function Tf(a,n,e,t){var r=Be([].concat(q(a),q(e))),i=Pn(r),o=new Set(["u_matrix","u_sizeRatio","u_correctionRatio","u_zoomRatio","u_pixelRatio","u_cameraAngle","u_minEdgeThickness","u_pickingPadding","u_nodeDataTexture"]),s=new Set,l=[],d=function(g){!o.has(g.name)&&!s.has(g.name)&&(s.add(g.name),l.push("uniform ".concat(g.type," ").concat(g.name,";")))};a.forEach(function(b){return b.uniforms.forEach(d)}),n.forEach(function(b){return b.uniforms.forEach(d)}),e.forEach(function(b){return b.uniforms.forEach(d)});var c=t.map(function(b){var g=b.size===1?"float":"vec".concat(b.size);return"in ".concat(g," ").concat(b.name,";")}).join(`
`),f=n.map(function(b){return pe(b.widthFactor)}).join(", "),p=Math.max.apply(Math,q(a.map(function(b){return b.minBodyLengthRatio||0}))),h=e.some(function(b){return b.needsNodeColors}),v=a.some(function(b){return b.needsNodeSize}),y=`#version 300 es

// Constant attributes (per vertex)
`.concat(c,`

// Per-edge attributes
// Edge data (source/target indices, thickness, extremity ratios, path/extremity IDs)
// is fetched from edge data texture via edge index
in float a_edgeIndex;   // Index into edge data texture
in vec4 a_color;        // Edge color
in vec4 a_id;           // Edge ID for picking
in float a_opacity;     // Edge opacity

// Standard uniforms
uniform mat3 u_matrix;
uniform float u_sizeRatio;
uniform float u_correctionRatio;
uniform float u_zoomRatio;
uniform float u_pixelRatio;
uniform float u_cameraAngle;
uniform float u_minEdgeThickness;
#ifdef PICKING_MODE
uniform float u_pickingPadding;
#endif
uniform sampler2D u_nodeDataTexture;
uniform int u_nodeDataTextureWidth;
uniform sampler2D u_edgeDataTexture;
uniform int u_edgeDataTextureWidth;
uniform sampler2D u_edgeFrameTexture;
uniform int u_edgeFrameTextureWidth;

// Edge path attribute texture uniforms
`).concat(i.uniformDeclarations,`

// Custom uniforms
`).concat(l.join(`
`),`

// Standard varyings
out vec4 v_color;
out float v_opacity;
out vec4 v_id;
out float v_thickness;       // Edge body thickness (in consistent units)
out float v_t;
out float v_tStart;
out float v_tEnd;
out float v_side;
out float v_antialiasingWidth;  // Anti-aliasing width (normalized: u_correctionRatio / thickness)
out vec2 v_source;
out vec2 v_target;
out float v_edgeLength;
`).concat(v?`
out float v_sourceNodeSize;  // Source node size (mirrored in labels/generator.ts as plain float)
out float v_targetNodeSize;  // Target node size (mirrored in labels/generator.ts as plain float)`:"",`
`).concat(h?`
out vec4 v_sourceColor;
out vec4 v_targetColor;`:"",`
// Zone varyings
out float v_zone;            // 0=tail, 1=body, 2=head
out float v_zoneT;           // Position within zone [0,1]
out float v_headLengthRatio; // Head length as ratio of thickness
out float v_tailLengthRatio; // Tail length as ratio of thickness
out float v_headWidthRatio;  // Head width factor
out float v_tailWidthRatio;  // Tail width factor

// Multi-path/extremity varyings
flat out int v_pathId;
flat out int v_headId;
flat out int v_tailId;

// Path/layer attribute varyings (fetched from edge attribute texture)
`).concat(i.vertexVaryingDeclarations,`

const float bias = 255.0 / 254.0;

// Width factor array for extremities (shared pool for head/tail)
const float EXTREMITY_WIDTH_FACTORS[`).concat(n.length,"] = float[](").concat(f,`);

// All path functions
`).concat(ui(a),`

// Path selector functions
`).concat(ci(a),`

// Node-data fetch helper (geometry texel of the two-texel node stride)
`).concat(tt,`
`).concat(h?Dh:"",`
// Per-edge clamp from the frame-pass (tStart, tEnd, straightenFactor, pathLength)
`).concat(Xt,`

void main() {
  // Fetch edge data from edge texture (2 texels per edge)
  // Texel 0: sourceNodeIndex, targetNodeIndex, thickness, reserved
  // Texel 1: headLengthRatio, tailLengthRatio, pathId, (headId << 4) | tailId
  int edgeIdx = int(a_edgeIndex);

  // Hidden edges are flagged with a negative row by EdgeProgram.process(). Push
  // the whole primitive outside the clip volume: every vertex lands at the same
  // out-of-range position, so it is fully clipped and rasterizes nothing —
  // neither to the frame buffer nor to the picking buffer.
  if (edgeIdx < 0) {
    gl_Position = vec4(2.0, 0.0, 0.0, 1.0);
    v_color = vec4(0.0);
    v_id = vec4(0.0);
    return;
  }

  int texel0Idx = edgeIdx * 2;
  int texel1Idx = edgeIdx * 2 + 1;
  ivec2 edgeTexCoord0 = ivec2(texel0Idx % u_edgeDataTextureWidth, texel0Idx / u_edgeDataTextureWidth);
  ivec2 edgeTexCoord1 = ivec2(texel1Idx % u_edgeDataTextureWidth, texel1Idx / u_edgeDataTextureWidth);
  vec4 edgeData0 = texelFetch(u_edgeDataTexture, edgeTexCoord0, 0);
  vec4 edgeData1 = texelFetch(u_edgeDataTexture, edgeTexCoord1, 0);

  // Unpack edge data
  int srcIdx = int(edgeData0.x);
  int tgtIdx = int(edgeData0.y);
  float a_thickness = edgeData0.z;
  // edgeData0.w is now reserved (curvature moved to path attribute texture)
  float a_headLengthRatio = edgeData1.x;
  float a_tailLengthRatio = edgeData1.y;
  int pathId = int(edgeData1.z);
  int extremityPacked = int(edgeData1.w);
  int headId = extremityPacked >> 4;
  int tailId = extremityPacked & 15;

  // Fetch path/layer attributes from edge attribute texture
`).concat(i.fetchCode,`

  // Assign path/layer attribute varyings
`).concat(i.varyingAssignments,`

  // Fetch source and target node geometry (texel 0 of the two-texel node stride)
  vec4 srcNodeData = readNodeData(u_nodeDataTexture, u_nodeDataTextureWidth, srcIdx);
  vec4 tgtNodeData = readNodeData(u_nodeDataTexture, u_nodeDataTextureWidth, tgtIdx);

  vec2 a_source = srcNodeData.xy;
  vec2 a_target = tgtNodeData.xy;
`).concat(v?`
  // Assign node size varyings early (path functions like loops need them during clamping)
  v_sourceNodeSize = srcNodeData.z;
  v_targetNodeSize = tgtNodeData.z;`:"",`
`).concat(h?`
  v_sourceColor = readNodeColor(u_nodeDataTexture, u_nodeDataTextureWidth, srcIdx);
  v_targetColor = readNodeColor(u_nodeDataTexture, u_nodeDataTextureWidth, tgtIdx);`:"",`

  // Convert thickness to WebGL units
  float minThickness = u_minEdgeThickness;
  float pixelsThickness = max(a_thickness, minThickness * u_sizeRatio);
  float webGLThickness = pixelsThickness * u_correctionRatio / u_sizeRatio;

  // Extremity parameters from ID lookups (shared pool)
  float headLengthRatio = a_headLengthRatio;
  float tailLengthRatio = a_tailLengthRatio;
  float headWidthFactor = EXTREMITY_WIDTH_FACTORS[headId];
  float tailWidthFactor = EXTREMITY_WIDTH_FACTORS[tailId];
  float minBodyLengthRatio = `).concat(pe(p),`;

  // Per-edge values from the frame-pass texture (read by edge index).
  // tStart/tEnd are the ungated boundary clamps: re-apply the body's extremity
  // gating here (no extremity → body runs to the node center, 0/1).
  vec4 frameClamp = readFrameTexel(u_edgeFrameTexture, u_edgeFrameTextureWidth, edgeIdx);
  float tStart           = a_tailLengthRatio > 0.0 ? frameClamp.x : 0.0;
  float tEnd             = a_headLengthRatio > 0.0 ? frameClamp.y : 1.0;
  float straightenFactor = frameClamp.z;
  float pathLength       = frameClamp.w;

  // Anti-aliasing width (~1 pixel, normalized by thickness)
  float antialiasingWidth = u_correctionRatio / webGLThickness;

  float visibleLength = pathLength * (tEnd - tStart);

  // Compute extremity lengths in world units
  float headLength = headLengthRatio * webGLThickness;
  float tailLength = tailLengthRatio * webGLThickness;
  float minBodyLength = minBodyLengthRatio * webGLThickness;

  // Handle short edges: scale down extremities if needed
  float totalNeededLength = headLength + tailLength + minBodyLength;
  float extremityScale = 1.0;
  if (totalNeededLength > visibleLength && totalNeededLength > 0.0001) {
    extremityScale = visibleLength / totalNeededLength;
    headLength *= extremityScale;
    tailLength *= extremityScale;
  }

  // Convert lengths to t-values
  float headLengthT = pathLength > 0.0001 ? headLength / pathLength : 0.0;
  float tailLengthT = pathLength > 0.0001 ? tailLength / pathLength : 0.0;

  // Zone boundaries in t-space
  float tTailEnd = tStart + tailLengthT;
  float tHeadStart = tEnd - headLengthT;

  // Ensure body has non-negative length
  if (tTailEnd > tHeadStart) {
    float mid = (tStart + tEnd) * 0.5;
    tTailEnd = mid;
    tHeadStart = mid;
  }

  // Convert to webGL units for geometry expansion
  float aaWidthWebGL = antialiasingWidth * webGLThickness;

  // Extra geometry width for picking padding (0 in visual mode)
  #ifdef PICKING_MODE
    float pickingPaddingWebGL = u_pickingPadding * u_correctionRatio;
  #else
    float pickingPaddingWebGL = 0.0;
  #endif

  // Straight-line direction and normal (for blending when straightenFactor > 0)
  vec2 straightDir = length(a_target - a_source) > 0.0001
    ? normalize(a_target - a_source) : vec2(1.0, 0.0);
  vec2 straightNormal = vec2(-straightDir.y, straightDir.x);

  // Zone-based vertex processing using path selectors
  vec2 position;
  vec2 normal;
  float t;
  float zone = a_zone;
  float zoneT = a_zoneT;
  float side = a_side;

  // Scaled extremity width factors (geometry must be at least as wide as body)
  float scaledTailWidth = max(tailWidthFactor * extremityScale, 1.0);
  float scaledHeadWidth = max(headWidthFactor * extremityScale, 1.0);

  if (zone < 0.5) {
    // TAIL ZONE: rectangular quad with scaled width
    vec2 tang = queryPathTangent(pathId, tTailEnd, a_source, a_target);
    normal = vec2(-tang.y, tang.x);
    vec2 centerPos = mix(queryPathPosition(pathId, tStart, a_source, a_target),
                         queryPathPosition(pathId, tTailEnd, a_source, a_target), zoneT);
    float halfWidth = webGLThickness * scaledTailWidth * 0.5 + aaWidthWebGL + pickingPaddingWebGL;
    position = centerPos + normal * side * halfWidth;
    t = mix(tStart, tTailEnd, zoneT);

  } else if (zone < 1.5) {
    // BODY ZONE: follows path curvature with width = 1.0
    t = mix(tTailEnd, tHeadStart, zoneT);
    normal = queryPathNormal(pathId, t, a_source, a_target);
    float halfWidth = webGLThickness * 0.5 + aaWidthWebGL + pickingPaddingWebGL;
    position = queryPathPosition(pathId, t, a_source, a_target) + normal * side * halfWidth;

  } else {
    // HEAD ZONE: rectangular quad with scaled width
    vec2 tang = queryPathTangent(pathId, tHeadStart, a_source, a_target);
    normal = vec2(-tang.y, tang.x);
    vec2 centerPos = mix(queryPathPosition(pathId, tHeadStart, a_source, a_target),
                         queryPathPosition(pathId, tEnd, a_source, a_target), zoneT);
    float halfWidth = webGLThickness * scaledHeadWidth * 0.5 + aaWidthWebGL + pickingPaddingWebGL;
    position = centerPos + normal * side * halfWidth;
    t = mix(tHeadStart, tEnd, zoneT);
  }

  // Blend toward straight line based on path twist in extremity zones
  if (straightenFactor > 0.001) {
    float zoneWidth = zone < 0.5 ? webGLThickness * scaledTailWidth * 0.5 + aaWidthWebGL + pickingPaddingWebGL :
                      zone < 1.5 ? webGLThickness * 0.5 + aaWidthWebGL + pickingPaddingWebGL :
                      webGLThickness * scaledHeadWidth * 0.5 + aaWidthWebGL + pickingPaddingWebGL;
    vec2 straightPos = mix(a_source, a_target, t) + straightNormal * side * zoneWidth;
    position = mix(position, straightPos, straightenFactor);
  }

  gl_Position = vec4((u_matrix * vec3(position, 1.0)).xy, 0.0, 1.0);

  // Pass varyings to fragment shader
  v_color = a_color;
  v_color.a *= bias;
  v_opacity = a_opacity;
  v_id = a_id;
  v_thickness = webGLThickness;
  v_t = t;
  v_tStart = tStart;
  v_tEnd = tEnd;
  v_side = side;
  v_antialiasingWidth = antialiasingWidth;
  v_source = a_source;
  v_target = a_target;
  v_edgeLength = pathLength;

  // Zone varyings
  v_zone = zone;
  v_zoneT = zoneT;
  v_headLengthRatio = headLengthRatio * extremityScale;
  v_tailLengthRatio = tailLengthRatio * extremityScale;
  // Scale extremity width proportionally with length when crushed
  v_headWidthRatio = headWidthFactor * extremityScale;
  v_tailWidthRatio = tailWidthFactor * extremityScale;

  // Multi-path varyings
  v_pathId = pathId;
  v_headId = headId;
  v_tailId = tailId;
}
`);return y}function Sf(a,n,e,t){var r=Be([].concat(q(a),q(e))),i=Pn(r),o=new Set(["u_matrix","u_sizeRatio","u_correctionRatio","u_zoomRatio","u_pixelRatio","u_cameraAngle","u_minEdgeThickness","u_pickingPadding"]),s=new Set,l=[],d=function(m){!o.has(m.name)&&!s.has(m.name)&&(s.add(m.name),l.push("uniform ".concat(m.type," ").concat(m.name,";")))};a.forEach(function(g){return g.uniforms.forEach(d)}),n.forEach(function(g){return g.uniforms.forEach(d)}),e.forEach(function(g){return g.uniforms.forEach(d)});var c=n.map(function(g){var m;return pe((m=g.baseRatio)!==null&&m!==void 0?m:.5)}).join(", "),f=function(m){var _,x;return n.length>1?"EXTREMITY_BASE_RATIOS[".concat(m,"]"):pe((_=(x=n[0])===null||x===void 0?void 0:x.baseRatio)!==null&&_!==void 0?_:.5)},p=n.some(function(g){return He(g.length)?!0:g.length>0}),h=e.some(function(g){return g.needsNodeColors}),v=a.some(function(g){return g.needsNodeSize}),y=e.map(function(g,m){return"  // Layer ".concat(m+1,": ").concat(g.name,`
  color = blendOver(color, layer_`).concat(g.name,"(context));")}).join(`

`),b=`#version 300 es
precision highp float;

// Standard varyings
in vec4 v_color;
in float v_opacity;
in vec4 v_id;
in float v_thickness;       // Edge body thickness
in float v_t;
in float v_tStart;
in float v_tEnd;
in float v_side;
in float v_antialiasingWidth;  // Anti-aliasing width (normalized: u_correctionRatio / thickness)
in vec2 v_source;
in vec2 v_target;
in float v_edgeLength;
`.concat(v?`
in float v_sourceNodeSize;   // Source node size (mirrored in labels/generator.ts as plain float)
in float v_targetNodeSize;   // Target node size (mirrored in labels/generator.ts as plain float)`:"",`
`).concat(h?`
in vec4 v_sourceColor;
in vec4 v_targetColor;`:"",`
// Zone varyings
in float v_zone;            // 0=tail, 1=body, 2=head
in float v_zoneT;           // Position within zone [0,1]
in float v_headLengthRatio; // Head length as ratio of thickness (scaled for short edges)
in float v_tailLengthRatio; // Tail length as ratio of thickness (scaled for short edges)
in float v_headWidthRatio;  // Head width factor
in float v_tailWidthRatio;  // Tail width factor

// Multi-path/extremity varyings
flat in int v_pathId;
flat in int v_headId;
flat in int v_tailId;

// Path/layer attribute varyings (from vertex shader texture fetch)
`).concat(i.fragmentVaryingDeclarations,`

// Standard uniforms (needed by some path types)
uniform float u_sizeRatio;
uniform float u_correctionRatio;
uniform float u_cameraAngle;
#ifdef PICKING_MODE
uniform float u_pickingPadding;
#endif

// Custom uniforms
`).concat(l.join(`
`),`

// Fragment output (single target - picking handled via separate pass)
out vec4 fragColor;

`).concat(n.length>1?`// Base ratio array for extremities (shared pool for head/tail)
const float EXTREMITY_BASE_RATIOS[`.concat(n.length,"] = float[](").concat(c,");"):"",`

// EdgeContext struct
struct EdgeContext {
  float t;                   // Position along path [0, 1]
  float sdf;                 // Signed distance from centerline
  vec2 position;             // World position
  vec2 tangent;              // Path tangent
  vec2 normal;               // Path normal
  float thickness;           // Edge thickness
  float aaWidth;             // Anti-aliasing width
  float edgeLength;          // Total path length
  float tStart;              // Clamped start t
  float tEnd;                // Clamped end t
  float distanceFromSource;  // Arc distance from source
  float distanceToTarget;    // Arc distance to target
};

EdgeContext context;

// Alpha "over" compositing for layer blending
vec4 blendOver(vec4 bg, vec4 fg) {
  float a = fg.a;
  return vec4(mix(bg.rgb, fg.rgb, a), bg.a + a * (1.0 - bg.a));
}

// All path functions
`).concat(ui(a),`

// Path selector functions
`).concat(ci(a),`

// All extremity functions
`).concat(pf(n),`

// Extremity SDF selector (shared pool for head/tail)
`).concat(bf(n),`

// Layer functions
`).concat(e.map(function(g){return g.glsl}).join(`

`),`

// Helper: Compute arc length using path selector
float computeArcLengthMulti(int pathId, float t0, float t1, vec2 source, vec2 target, int samples) {
  float arcLen = 0.0;
  vec2 prev = queryPathPosition(pathId, t0, source, target);
  for (int i = 1; i <= samples; i++) {
    float t = t0 + (t1 - t0) * float(i) / float(samples);
    vec2 curr = queryPathPosition(pathId, t, source, target);
    arcLen += length(curr - prev);
    prev = curr;
  }
  return arcLen;
}

void main() {
  // Compute normalized t within visible edge (0 = start, 1 = end)
  float tNorm = (v_t - v_tStart) / max(v_tEnd - v_tStart, 0.0001);

  // Edge body half-thickness
  float halfThickness = v_thickness * 0.5;

  // Convert normalized AA width to webGL units (~1 pixel)
  float aaWidthWebGL = v_antialiasingWidth * v_thickness;

  // Distance from centerline based on v_side interpolation
  float zoneWidthFactor = v_zone < 0.5 ? v_tailWidthRatio :
                          v_zone < 1.5 ? 1.0 :
                          v_headWidthRatio;
  // In PICKING_MODE, inflate halfGeometryWidth to match the inflated vertex geometry
  #ifdef PICKING_MODE
    float halfGeometryWidth = halfThickness * zoneWidthFactor + aaWidthWebGL + u_pickingPadding * aaWidthWebGL;
  #else
    float halfGeometryWidth = halfThickness * zoneWidthFactor + aaWidthWebGL;
  #endif
  float distFromCenter = abs(v_side) * halfGeometryWidth;

  // Populate EdgeContext (for layer functions)
  context.t = tNorm;
  context.sdf = distFromCenter - halfThickness;
  context.position = queryPathPosition(v_pathId, v_t, v_source, v_target);
  context.tangent = queryPathTangent(v_pathId, v_t, v_source, v_target);
  context.normal = vec2(-context.tangent.y, context.tangent.x);
  context.thickness = v_thickness;
  context.aaWidth = aaWidthWebGL;
  context.edgeLength = v_edgeLength;
  context.tStart = v_tStart;
  context.tEnd = v_tEnd;

  // Compute arc distances
  float visibleLength = v_edgeLength * (v_tEnd - v_tStart);
  float pathT = v_t;
  float pathTNorm = tNorm;
`).concat(a.every(function(g){return g.linearParameterization})?`  // All paths have linear parameterization: t maps directly to arc distance
  context.distanceFromSource = pathTNorm * visibleLength;
  context.distanceToTarget = (1.0 - pathTNorm) * visibleLength;`:a.every(function(g){return!g.linearParameterization})?`  // No paths have linear parameterization: use numerical integration
  context.distanceFromSource = computeArcLengthMulti(v_pathId, v_tStart, pathT, v_source, v_target, 16);
  context.distanceToTarget = computeArcLengthMulti(v_pathId, pathT, v_tEnd, v_source, v_target, 16);`:`  // Mixed parameterization: use analytical for linear paths, numerical for others
  if (`.concat(a.filter(function(g){return g.linearParameterization}).map(function(g){return"v_pathId == ".concat(a.indexOf(g))}).join(" || "),`) {
    context.distanceFromSource = pathTNorm * visibleLength;
    context.distanceToTarget = (1.0 - pathTNorm) * visibleLength;
  } else {
    context.distanceFromSource = computeArcLengthMulti(v_pathId, v_tStart, pathT, v_source, v_target, 16);
    context.distanceToTarget = computeArcLengthMulti(v_pathId, pathT, v_tEnd, v_source, v_target, 16);
  }`),`

  // Compute SDF based on zone using extremity selector (shared pool)
  float bodySDF = distFromCenter - halfThickness;
  float finalSDF;

`).concat(p?`  // Base ratios, from baseRatioLookup
  float headBaseRatio = `.concat(f("v_headId"),`;
  float tailBaseRatio = `).concat(f("v_tailId"),`;

  if (v_zone < 0.5) {
    // TAIL ZONE: v_zoneT goes 0 (tip) to 1 (base)
    vec2 uv = vec2((1.0 - v_zoneT) * v_tailLengthRatio, v_side * v_tailWidthRatio * 0.5);
    float tailSDF = queryExtremitySDF(v_tailId, uv, v_tailLengthRatio, v_tailWidthRatio) * v_thickness;

    // Apply union only near base (v_zoneT > 1 - baseRatio)
    if (v_zoneT > 1.0 - tailBaseRatio) {
      finalSDF = min(tailSDF, bodySDF);
    } else {
      finalSDF = tailSDF;
    }
  } else if (v_zone < 1.5) {
    // BODY ZONE: distance from centerline
    finalSDF = bodySDF;
  } else {
    // HEAD ZONE: v_zoneT goes 0 (base) to 1 (tip)
    vec2 uv = vec2(v_zoneT * v_headLengthRatio, v_side * v_headWidthRatio * 0.5);
    float headSDF = queryExtremitySDF(v_headId, uv, v_headLengthRatio, v_headWidthRatio) * v_thickness;

    // Apply union only near base (v_zoneT < baseRatio)
    if (v_zoneT < headBaseRatio) {
      finalSDF = min(headSDF, bodySDF);
    } else {
      finalSDF = headSDF;
    }
  }`):`  // No extremity draws tail/head geometry, so every vertex is body zone.
  finalSDF = bodySDF;`,`

  #ifdef PICKING_MODE
    // Picking pass: output edge ID for pixels within the picking area
    if (finalSDF > u_pickingPadding * aaWidthWebGL) discard;
    fragColor = v_id;
  #else
`).concat(t?`    // Visual pass: anti-aliased edge with layers, edge opacity applied once
    float alpha = smoothstep(aaWidthWebGL, -aaWidthWebGL, finalSDF) * v_opacity;`:`    // Visual pass: hard-edged (no anti-aliasing gradient) edge with layers, edge opacity applied once
    float alpha = (finalSDF < 0.0 ? 1.0 : 0.0) * v_opacity;`,`
    if (alpha < 0.01) discard;

    // Apply layers sequentially with "over" compositing
    vec4 color = vec4(0.0);

`).concat(y,`

    // Mix with transparent to fade both color AND alpha (pre-multiplied alpha for correct blending)
    fragColor = mix(vec4(0.0), color, alpha);
  #endif
}
`);return b}function Ef(a,n,e){var t=He(n.length)?!0:n.length>0,r=He(e.length)?!0:e.length>0;if(a.generateConstantData){var i=a.generateConstantData();return{data:i.data,attributes:i.attributes,verticesPerEdge:i.verticesPerEdge}}return xf(a.segments,t,r)}function Hs(a){var n,e=sl(a),t=e.paths,r=e.extremities,i=e.layers,o=(n=a.antialias)!==null&&n!==void 0?n:!0,s=new Map,l=new Map,d=new Map,c=O(t),f;try{for(c.s();!(f=c.n()).done;){var p=f.value,h=O(r),v;try{for(h.s();!(v=h.n()).done;){var y=v.value,b=O(r),g;try{for(b.s();!(g=b.n()).done;){var m=g.value,_="".concat(p.name,":").concat(y.name,":").concat(m.name),x=Ef(p,y,m);s.set(_,x.verticesPerEdge),l.set(_,x.data);var T=O(x.attributes),S;try{for(T.s();!(S=T.n()).done;){var A=S.value;d.has(A.name)||d.set(A.name,A)}}catch(K){T.e(K)}finally{T.f()}}}catch(K){b.e(K)}finally{b.f()}}}catch(K){h.e(K)}finally{h.f()}}}catch(K){c.e(K)}finally{c.f()}var E=Array.from(d.values()),D={};E.forEach(function(K,Z){D[K.name]=Z});var k=0,P="",R=O(s),C;try{for(R.s();!(C=R.n()).done;){var L=ae(C.value,2),M=L[0],G=L[1];G>k&&(k=G,P=M)}}catch(K){R.e(K)}finally{R.f()}var N=l.get(P)||[],F=P.split(":"),I=ae(F,1),z=I[0],X=t.find(function(K){return K.name===z}),H=[];X!=null&&X.generateConstantData?H=X.generateConstantData().attributes:H=[{name:"a_zone"},{name:"a_zoneT"},{name:"a_side"}];var Q=N.map(function(K){var Z=new Array(E.length).fill(0);return H.forEach(function(De,_e){var Re=D[De.name];Re!==void 0&&_e<K.length&&(Z[Re]=K[_e])}),Z});return{vertexShader:Tf(t,r,i,E),fragmentShader:Sf(t,r,i,o),uniforms:gf(t,r,i),attributes:wf(),verticesPerEdge:k,constantData:Q,constantAttributes:E,vertexCountsPerCombination:s,constantDataPerCombination:l}}function wf(a,n,e){return[{name:"a_edgeIndex",size:1,type:kn},{name:"a_color",size:4,type:Bs,normalized:!0},{name:"a_id",size:4,type:Bs,normalized:!0},{name:"a_opacity",size:1,type:kn}]}var Af=`#version 300 es
precision highp float;

in vec4 v_clamp;

// RGBA32F target: stores (tStart, tEnd, straightenFactor, pathLength).
out vec4 fragColor;

void main() {
  fragColor = v_clamp;
}
`,Rf=(function(){function a(n,e){J(this,a),w(this,"uniformLocations",{});var t=e.paths,r=e.extremities,i=e.layers,o=e.nodeShapes,s=e.nodeLayers;this.gl=n,this.hasAttributeData=Be([].concat(q(t),q(i))).floatsPerItem>0,this.hasNodeAttributeData=Object.keys(jt(o,s).offsets).length>0,this.vertexShader=ni(n,_f(t,r,i,o,s)),this.fragmentShader=ai(n,Af),this.program=ri(n,[this.vertexShader,this.fragmentShader]);var l=new Set;this.customUniforms=[];for(var d=0,c=[].concat(q(t),q(r));d<c.length;d++){var f=c[d],p=O(f.uniforms),h;try{for(p.s();!(h=p.n()).done;){var v=h.value;l.has(v.name)||(l.add(v.name),this.customUniforms.push(v))}}catch(_){p.e(_)}finally{p.f()}}var y=["u_sizeRatio","u_correctionRatio","u_cameraAngle","u_minEdgeThickness","u_nodeDataTexture","u_nodeDataTextureWidth","u_edgeDataTexture","u_edgeDataTextureWidth","u_edgeAttributeTexture","u_edgeAttributeTextureWidth","u_edgeAttributeTexelsPerEdge","u_layerAttributeTexture","u_layerAttributeTextureWidth","u_layerAttributeTexelsPerNode","u_frameTextureWidth","u_frameTextureHeight"].concat(q(this.customUniforms.map(function(_){return _.name}))),b=O(y),g;try{for(b.s();!(g=b.n()).done;){var m=g.value;this.uniformLocations[m]=n.getUniformLocation(this.program,m)}}catch(_){b.e(_)}finally{b.f()}this.vao=n.createVertexArray()}return ee(a,[{key:"run",value:function(e,t,r,i,o){if(r!==0){var s=this.gl,l=this.uniformLocations;s.useProgram(this.program),s.bindVertexArray(this.vao),l.u_sizeRatio&&s.uniform1f(l.u_sizeRatio,e.sizeRatio),l.u_correctionRatio&&s.uniform1f(l.u_correctionRatio,e.correctionRatio),l.u_cameraAngle&&s.uniform1f(l.u_cameraAngle,e.cameraAngle),l.u_minEdgeThickness&&s.uniform1f(l.u_minEdgeThickness,e.minEdgeThickness),l.u_nodeDataTexture&&s.uniform1i(l.u_nodeDataTexture,e.nodeDataTextureUnit),l.u_nodeDataTextureWidth&&s.uniform1i(l.u_nodeDataTextureWidth,e.nodeDataTextureWidth),l.u_edgeDataTexture&&s.uniform1i(l.u_edgeDataTexture,e.edgeDataTextureUnit),l.u_edgeDataTextureWidth&&s.uniform1i(l.u_edgeDataTextureWidth,e.edgeDataTextureWidth),l.u_frameTextureWidth&&s.uniform1f(l.u_frameTextureWidth,t.getTextureWidth()),l.u_frameTextureHeight&&s.uniform1f(l.u_frameTextureHeight,t.getTextureHeight()),this.hasAttributeData&&i&&(i.bind(dt),l.u_edgeAttributeTexture&&s.uniform1i(l.u_edgeAttributeTexture,dt),l.u_edgeAttributeTextureWidth&&s.uniform1i(l.u_edgeAttributeTextureWidth,i.getTextureWidth()),l.u_edgeAttributeTexelsPerEdge&&s.uniform1i(l.u_edgeAttributeTexelsPerEdge,i.getTexelsPerItem())),this.hasNodeAttributeData&&o&&(o.bind(lt),l.u_layerAttributeTexture&&s.uniform1i(l.u_layerAttributeTexture,lt),l.u_layerAttributeTextureWidth&&s.uniform1i(l.u_layerAttributeTextureWidth,o.getTextureWidth()),l.u_layerAttributeTexelsPerNode&&s.uniform1i(l.u_layerAttributeTexelsPerNode,o.getTexelsPerItem()));var d=O(this.customUniforms),c;try{for(d.s();!(c=d.n()).done;){var f=c.value;di(s,this.uniformLocations[f.name],f)}}catch(p){d.e(p)}finally{d.f()}t.bindAsRenderTarget(),s.disable(s.BLEND),s.disable(s.DEPTH_TEST),s.drawArrays(s.POINTS,0,r),s.bindFramebuffer(s.FRAMEBUFFER,null),s.bindVertexArray(null)}}},{key:"kill",value:function(){var e=this.gl;e.deleteProgram(this.program),e.deleteShader(this.vertexShader),e.deleteShader(this.fragmentShader),e.deleteVertexArray(this.vao)}}])})();function An(a,n,e,t,r,i){if(a.length===1)return"".concat(t," ").concat(n,"(int pathId, ").concat(r,`) {
  return path_`).concat(a[0].name,"_").concat(e,"(").concat(i,`);
}`);var o=a.map(function(s,l){return"    case ".concat(l,": return path_").concat(s.name,"_").concat(e,"(").concat(i,");")}).join(`
`);return"".concat(t," ").concat(n,"(int pathId, ").concat(r,`) {
  switch (pathId) {
`).concat(o,`
    default: return path_`).concat(a[0].name,"_").concat(e,"(").concat(i,`);
  }
}`)}var kf=`
vec3 computeEdgeLabelBodyBounds(
  float tStart, float tEnd, float pathLength,
  float webGLThickness, float headLengthRatio, float tailLengthRatio
) {
  float visibleLength = pathLength * (tEnd - tStart);

  float headLength = headLengthRatio * webGLThickness;
  float tailLength = tailLengthRatio * webGLThickness;
  float totalNeededLength = headLength + tailLength;
  if (totalNeededLength > visibleLength && totalNeededLength > 0.0001) {
    float extremityScale = visibleLength / totalNeededLength;
    headLength *= extremityScale;
    tailLength *= extremityScale;
  }

  float bodyStartDist = tStart * pathLength + tailLength;
  float bodyEndDist = tEnd * pathLength - headLength;
  return vec3(bodyStartDist, bodyEndDist, max(bodyEndDist - bodyStartDist, 0.0));
}
`;function Df(a,n){var e=pe(a),t=pe(n);return`
float computeEdgeLabelAlpha(float bodyLength, float textWidthWebGL) {
  float ratio = textWidthWebGL > 0.0001 ? min(bodyLength / textWidthWebGL, 1.0) : 1.0;
  if (ratio < `.concat(e,`) return 0.0;
  if (ratio < `).concat(t,") return (ratio - ").concat(e,") / (").concat(t," - ").concat(e,`);
  return 1.0;
}
`)}var Lf=`
float computeEdgeLabelScreenDir(int pathId, float t, vec2 source, vec2 target, mat3 matrix) {
  vec2 tangent = queryPathTangent(pathId, t, source, target);
  return (matrix * vec3(tangent, 0.0)).x < 0.0 ? -1.0 : 1.0;
}
`,Cf=`
float computeEdgeLabelPerpOffset(
  float positionMode,
  float halfThickness, float marginWebGL, float halfTextHeight,
  float readingSign, float screenDir
) {
  float magnitude = halfThickness + marginWebGL + halfTextHeight;
  if (positionMode == 1.0) return magnitude * readingSign;
  if (positionMode == 2.0) return -magnitude * readingSign;
  if (positionMode == 3.0) return magnitude * screenDir;
  return 0.0;
}
`;function dl(a){var n=a.paths,e=a.minVisibilityThreshold,t=a.fullVisibilityThreshold,r=n.some(function(s){return s.hasSharpCorners}),i=n.map(function(s){return"// --- Path: ".concat(s.name,` ---
`).concat(s.glsl,`

// Tangent/normal functions: analytical if provided, otherwise numerical
`).concat(s.analyticalTangentGlsl||il(s.name),`

// Auto-generated fallbacks for any missing path functions
`).concat(ol(s.name,s.glsl),`

// Corner skip helpers (for paths with sharp corners like step/taxi)
`).concat(s.cornerSkipGlsl||"",`
`)}).join(`
`),o=r?`// Corner function selectors (only some paths have sharp corners)
vec2 queryGetCornerTs(int pathId, vec2 source, vec2 target) {
  switch (pathId) {
`.concat(n.map(function(s,l){return s.hasSharpCorners?"    case ".concat(l,": return path_").concat(s.name,"_getCornerTs(source, target);"):"    case ".concat(l,": return vec2(-1.0, -1.0); // No corners for ").concat(s.name)}).join(`
`),`
    default: return vec2(-1.0, -1.0);
  }
}

vec2 queryGetCornerConcavity(int pathId, vec2 source, vec2 target, float perpOffset) {
  switch (pathId) {
`).concat(n.map(function(s,l){return s.hasSharpCorners?"    case ".concat(l,": return path_").concat(s.name,"_getCornerConcavity(source, target, perpOffset);"):"    case ".concat(l,": return vec2(0.0, 0.0); // No corners for ").concat(s.name)}).join(`
`),`
    default: return vec2(0.0, 0.0);
  }
}`):"";return`
// ============================================================================
// Node data fetch (geometry texel) and per-edge clamp fetch (edge-frame texture)
// ============================================================================

`.concat(tt,`
`).concat(Xt,`

// ============================================================================
// Path Functions (one block per path)
// ============================================================================

`).concat(i,`

// ============================================================================
// Path Query Selectors (dispatch by pathId)
// ============================================================================

`).concat(An(n,"queryPathPosition","position","vec2","float t, vec2 source, vec2 target","t, source, target"),`

`).concat(An(n,"queryPathTangent","tangent","vec2","float t, vec2 source, vec2 target","t, source, target"),`

`).concat(An(n,"queryPathNormal","normal","vec2","float t, vec2 source, vec2 target","t, source, target"),`

`).concat(An(n,"queryPathLength","length","float","vec2 source, vec2 target","source, target"),`

`).concat(An(n,"queryPathTAtDistance","t_at_distance","float","float dist, vec2 source, vec2 target","dist, source, target"),`

`).concat(o,`

// ============================================================================
// Shared helpers (body bounds, alpha ramp, screen direction, perpendicular offset)
// ============================================================================

`).concat(kf,`
`).concat(Df(e,t),`
`).concat(Lf,`
`).concat(Cf,`
`)}var Pf=qe.fontSize,Ff=new Map,ul=24,$s=(ul+1)*2;function If(a){var n=a.paths,e=a.fontSizeMode,t=a.headLengthRatio,r=a.tailLengthRatio,i=a.minVisibilityThreshold,o=a.fullVisibilityThreshold,s=a.keepUpright,l=e==="scaled",d=je(),c=Be([].concat(q(n),[d])),f=Pn(c),p=`#version 300 es

// Per-instance attributes
in float a_edgeIndex;
in float a_edgeAttrIndex;
in float a_baseFontSize;
in float a_totalTextWidth;
in float a_positionMode;
in float a_margin;
in float a_padding;
in vec4 a_color;
in vec4 a_id;

// Per-vertex (constant) attribute: strip vertex index
in float a_vertexIndex;

uniform mat3 u_matrix;
uniform float u_sizeRatio;
uniform float u_correctionRatio;
uniform float u_pixelRatio;
uniform float u_cameraAngle;
uniform vec2 u_resolution;
uniform sampler2D u_nodeDataTexture;
uniform int u_nodeDataTextureWidth;
uniform sampler2D u_edgeDataTexture;
uniform int u_edgeDataTextureWidth;
uniform sampler2D u_edgeFrameTexture; // Per-edge clamp (tStart, tEnd, straightenFactor, pathLength)
uniform int u_edgeFrameTextureWidth;
`.concat(l?"uniform float u_zoomSizeRatio;":"",`

`).concat(f.uniformDeclarations,`

out vec4 v_color;
out vec4 v_id;
out float v_alphaModifier;

const float ATLAS_FONT_SIZE = `).concat(pe(Pf),`;
const float HEAD_RATIO = `).concat(pe(t),`;
const float TAIL_RATIO = `).concat(pe(r),`;
const int RIBBON_SEGMENTS = `).concat(ul,`;

// Path attribute varyings (declared as plain locals since this shader has no FS inputs for them)
`).concat(f.vertexVaryingDeclarations.replace(/out /g,""),`

// Node size variables used by some path functions (self-loops, etc.)
float v_sourceNodeSize;
float v_targetNodeSize;

// Shared preamble: shape SDFs, path functions + selectors, clamp, helpers.
`).concat(dl({paths:n,minVisibilityThreshold:i,fullVisibilityThreshold:o}),`

void main() {
  int vIdx = int(a_vertexIndex);
  int pairIdx = vIdx / 2;
  int side = vIdx - pairIdx * 2; // 0 = left/bottom, 1 = right/top

  // --- Fetch edge data (2 texels per edge) ---
  int edgeIdx = int(a_edgeIndex);
  int texel0Idx = edgeIdx * 2;
  int texel1Idx = edgeIdx * 2 + 1;
  ivec2 e0 = ivec2(texel0Idx % u_edgeDataTextureWidth, texel0Idx / u_edgeDataTextureWidth);
  ivec2 e1 = ivec2(texel1Idx % u_edgeDataTextureWidth, texel1Idx / u_edgeDataTextureWidth);
  vec4 edgeData0 = texelFetch(u_edgeDataTexture, e0, 0);
  vec4 edgeData1 = texelFetch(u_edgeDataTexture, e1, 0);

  int srcIdx = int(edgeData0.x);
  int tgtIdx = int(edgeData0.y);
  float thickness = edgeData0.z;
  int pathId = int(edgeData1.z);

  // --- Fetch path attributes (curvature, etc.) ---
  {
    int edgeIdx = int(a_edgeAttrIndex);
`).concat(f.fetchCode,`
`).concat(f.varyingAssignments,`
  }

  // --- Fetch node data: geometry (texel 0) + rotation flags (texel 1) ---
  vec4 srcN = readNodeData(u_nodeDataTexture, u_nodeDataTextureWidth, srcIdx);
  vec4 tgtN = readNodeData(u_nodeDataTexture, u_nodeDataTextureWidth, tgtIdx);

  vec2 source = srcN.xy;
  vec2 target = tgtN.xy;
  float sourceSize = srcN.z;
  float targetSize = tgtN.z;
  v_sourceNodeSize = sourceSize;
  v_targetNodeSize = targetSize;

  // --- Pixel-to-graph conversion (fixed font mode) ---
  float matrixScaleX = length(vec2(u_matrix[0][0], u_matrix[1][0]));
  float pixelToGraph = 2.0 / (matrixScaleX * u_resolution.x);

  float webGLThickness = thickness * u_correctionRatio / u_sizeRatio;

  // --- Body bounds (shared with edge label shader) ---
  vec4 edgeClamp = readFrameTexel(u_edgeFrameTexture, u_edgeFrameTextureWidth, edgeIdx);
  vec3 bodyBounds = computeEdgeLabelBodyBounds(
    edgeClamp.x, edgeClamp.y, edgeClamp.w,
    webGLThickness, HEAD_RATIO, TAIL_RATIO
  );
  float bodyStartDist = bodyBounds.x;
  float bodyEndDist = bodyBounds.y;
  float bodyLength = bodyBounds.z;

  // --- Text dimensions ---
  float baseFontSize = a_baseFontSize;
  `).concat(l?`float fontScale = baseFontSize / ATLAS_FONT_SIZE * u_zoomSizeRatio;
  float textWidthWebGL = a_totalTextWidth * fontScale * u_correctionRatio / u_sizeRatio;
  float halfTextHeight = baseFontSize * 0.35 * u_zoomSizeRatio * u_correctionRatio / u_sizeRatio;
  float marginWebGL = a_margin * u_zoomSizeRatio * u_correctionRatio / u_sizeRatio;`:`float fontScale = baseFontSize / ATLAS_FONT_SIZE;
  float textWidthWebGL = a_totalTextWidth * fontScale * pixelToGraph;
  float halfTextHeight = baseFontSize * 0.35 * pixelToGraph;
  float marginWebGL = a_margin * pixelToGraph;`,`
  float paddingWebGL = a_padding * pixelToGraph;

  // --- Alpha modifier (shared with edge label shader) ---
  float alphaModifier = computeEdgeLabelAlpha(bodyLength, textWidthWebGL);
  if (alphaModifier <= 0.0 || textWidthWebGL <= 0.0) {
    gl_Position = vec4(2.0, 0.0, 0.0, 1.0);
    v_color = vec4(0.0);
    v_id = vec4(0.0);
    v_alphaModifier = 0.0;
    return;
  }

  // --- Perpendicular offset (shared with edge label shader) ---
  float bodyCenterDist = (bodyStartDist + bodyEndDist) * 0.5;
  float centerT = queryPathTAtDistance(pathId, bodyCenterDist, source, target);
  float screenDir = computeEdgeLabelScreenDir(pathId, centerT, source, target, u_matrix);
  float readingSign = `).concat(s?"screenDir":"1.0",`;
  float halfThickness = webGLThickness * 0.5;
  float perpOffset = computeEdgeLabelPerpOffset(
    a_positionMode, halfThickness, marginWebGL, halfTextHeight, readingSign, screenDir
  );

  // --- Ribbon span (clipped to body) ---
  float halfTextWebGL = textWidthWebGL * 0.5;
  float labelStartDist = max(bodyCenterDist - halfTextWebGL, bodyStartDist);
  float labelEndDist = min(bodyCenterDist + halfTextWebGL, bodyEndDist);

  // Sample centerline at this pair, then apply perpendicular offset.
  // The ribbon follows the centerline path (simple & robust); for curved edges
  // this closely matches the offset path the characters sit on.
  float u = float(pairIdx) / float(RIBBON_SEGMENTS);
  float arcDist = mix(labelStartDist, labelEndDist, u);
  float t = queryPathTAtDistance(pathId, arcDist, source, target);
  vec2 pos = queryPathPosition(pathId, t, source, target);
  vec2 tan = queryPathTangent(pathId, t, source, target);
  vec2 perp = vec2(-tan.y, tan.x);

  vec2 centerPos = pos + perp * perpOffset;

  float halfRibbon = halfTextHeight + paddingWebGL;
  float sideSign = side == 0 ? -1.0 : 1.0;
  vec2 ribbonPos = centerPos + perp * (sideSign * halfRibbon);

  vec3 clipPos = u_matrix * vec3(ribbonPos, 1.0);
  gl_Position = vec4(clipPos.xy, 0.0, 1.0);

  v_color = a_color;
  v_id = a_id;
  v_alphaModifier = alphaModifier;
}
`);return p}var Mf=`#version 300 es
precision highp float;

in vec4 v_color;
in vec4 v_id;
in float v_alphaModifier;

out vec4 fragColor;

void main() {
#ifdef PICKING_MODE
  if (v_alphaModifier <= 0.0) discard;
  fragColor = v_id;
#else
  float alpha = v_color.a * v_alphaModifier;
  if (alpha <= 0.0) discard;
  fragColor = vec4(v_color.rgb * alpha, alpha);
#endif
}
`;function Nf(a,n,e,t){var r=t.shaderConfig,i=r.paths,o=r.fontSizeMode;if(i.length===0)throw new Error("createEdgeLabelBackgroundProgram: shaderConfig must declare at least one path");var s=je(),l=Be([].concat(q(i),[s])),d=Ba([].concat(q(i),[s]),l),c=If(r),f=(function(p){function h(v,y,b){var g;return J(this,h),g=he(this,h,[v,y,b]),w(g,"totalCount",0),w(g,"bufferCapacity",0),w(g,"edgeAttributeTexture",null),g.edgeAttributeTexture=new Wa(v,l),g.packedAttributeData=new Float32Array(l.floatsPerItem),g}return fe(h,p),ee(h,[{key:"getDefinition",value:function(){for(var y=WebGL2RenderingContext,b=y.FLOAT,g=y.UNSIGNED_BYTE,m=y.TRIANGLE_STRIP,_=[],x=0;x<$s;x++)_.push([x]);var T=["u_matrix","u_sizeRatio","u_correctionRatio","u_pixelRatio","u_cameraAngle","u_resolution","u_nodeDataTexture","u_nodeDataTextureWidth","u_edgeDataTexture","u_edgeDataTextureWidth","u_edgeFrameTexture","u_edgeFrameTextureWidth"];return o==="scaled"&&T.push("u_zoomSizeRatio"),l.floatsPerItem>0&&T.push("u_edgeAttributeTexture","u_edgeAttributeTextureWidth","u_edgeAttributeTexelsPerEdge"),{VERTICES:$s,VERTEX_SHADER_SOURCE:c,FRAGMENT_SHADER_SOURCE:Mf,METHOD:m,UNIFORMS:T,ATTRIBUTES:[{name:"a_edgeIndex",size:1,type:b},{name:"a_edgeAttrIndex",size:1,type:b},{name:"a_baseFontSize",size:1,type:b},{name:"a_totalTextWidth",size:1,type:b},{name:"a_positionMode",size:1,type:b},{name:"a_margin",size:1,type:b},{name:"a_padding",size:1,type:b},{name:"a_color",size:4,type:g,normalized:!0},{name:"a_id",size:4,type:g,normalized:!0}],CONSTANT_ATTRIBUTES:[{name:"a_vertexIndex",size:1,type:b}],CONSTANT_DATA:_}}},{key:"processEdgeLabelBackground",value:function(y,b,g){var m=0;if(this.edgeAttributeTexture&&l.floatsPerItem>0){m=this.edgeAttributeTexture.allocate(b);var _=this.packedAttributeData;Ua(d,g.edgeAttributes,_,"",Ff,0),this.edgeAttributeTexture.updateAllAttributes(b,_)}var x=this.floats,T=this.ints,S=y*this.STRIDE;x[S++]=g.edgeIndex,x[S++]=m,x[S++]=g.baseFontSize,x[S++]=g.totalTextWidth,x[S++]=g.positionMode,x[S++]=g.margin,x[S++]=g.padding,x[S++]=g.color,T[S++]=g.id}},{key:"setUniforms",value:function(y,b){var g=b.gl,m=b.uniformLocations;if(g.uniformMatrix3fv(m.u_matrix,!1,y.matrix),g.uniform1f(m.u_sizeRatio,y.sizeRatio),g.uniform1f(m.u_correctionRatio,y.correctionRatio),g.uniform1f(m.u_pixelRatio,y.pixelRatio),g.uniform1f(m.u_cameraAngle,y.cameraAngle),g.uniform2f(m.u_resolution,y.width,y.height),m.u_nodeDataTexture!==void 0&&g.uniform1i(m.u_nodeDataTexture,y.nodeDataTextureUnit),m.u_nodeDataTextureWidth!==void 0&&g.uniform1i(m.u_nodeDataTextureWidth,y.nodeDataTextureWidth),m.u_edgeDataTexture!==void 0&&g.uniform1i(m.u_edgeDataTexture,y.edgeDataTextureUnit),m.u_edgeDataTextureWidth!==void 0&&g.uniform1i(m.u_edgeDataTextureWidth,y.edgeDataTextureWidth),m.u_edgeFrameTexture!==void 0&&g.uniform1i(m.u_edgeFrameTexture,y.edgeFrameTextureUnit),m.u_edgeFrameTextureWidth!==void 0&&g.uniform1i(m.u_edgeFrameTextureWidth,y.edgeFrameTextureWidth),o==="scaled"&&m.u_zoomSizeRatio!==void 0){var _=this.renderer.getSetting("zoomToSizeRatioFunction");g.uniform1f(m.u_zoomSizeRatio,1/_(y.zoomRatio))}this.edgeAttributeTexture&&l.floatsPerItem>0&&m.u_edgeAttributeTexture!==void 0&&(this.edgeAttributeTexture.bind(dt),g.uniform1i(m.u_edgeAttributeTexture,dt),g.uniform1i(m.u_edgeAttributeTextureWidth,this.edgeAttributeTexture.getTextureWidth()),g.uniform1i(m.u_edgeAttributeTexelsPerEdge,this.edgeAttributeTexture.getTexelsPerItem()))}},{key:"renderProgram",value:function(y,b){this.edgeAttributeTexture&&l.floatsPerItem>0&&this.edgeAttributeTexture.upload(),ye(h,"renderProgram",this,3)([y,b])}},{key:"kill",value:function(){this.edgeAttributeTexture&&(this.edgeAttributeTexture.kill(),this.edgeAttributeTexture=null),ye(h,"kill",this,3)([])}},{key:"drawWebGL",value:function(y,b){var g=b.gl;this.totalCount!==0&&g.drawArraysInstanced(g.TRIANGLE_STRIP,0,this.VERTICES,this.totalCount)}},{key:"reallocate",value:function(y){this.totalCount=y,y>this.bufferCapacity&&(this.bufferCapacity=Math.max(y,Math.ceil(this.bufferCapacity*1.5)||10),ye(h,"reallocate",this,3)([this.bufferCapacity]))}}])})(St);return new f(a,n,e)}function cl(a){var n,e,t,r,i,o;return{paths:a.paths,headLengthRatio:(n=a.headLengthRatio)!==null&&n!==void 0?n:0,tailLengthRatio:(e=a.tailLengthRatio)!==null&&e!==void 0?e:0,fontSizeMode:(t=a.fontSizeMode)!==null&&t!==void 0?t:"fixed",minVisibilityThreshold:(r=a.minVisibilityThreshold)!==null&&r!==void 0?r:.7,fullVisibilityThreshold:(i=a.fullVisibilityThreshold)!==null&&i!==void 0?i:.8,keepUpright:(o=a.keepUpright)!==null&&o!==void 0?o:!0}}var Gf=qe.fontSize,zf=17/64;function Of(a){var n=a.paths,e=a.hasBorder,t=e===void 0?!1:e,r=a.fontSizeMode,i=r===void 0?"fixed":r,o=a.minVisibilityThreshold,s=o===void 0?.5:o,l=a.fullVisibilityThreshold,d=l===void 0?.6:l,c=a.keepUpright,f=c===void 0?!0:c,p=i==="scaled",h=n.some(function(m){return m.hasSharpCorners}),v=je(),y=Be([].concat(q(n),[v])),b=Pn(y),g=`#version 300 es

// ============================================================================
// Attributes - Per Character (Instanced)
// ============================================================================

// Edge geometry: indices for texture lookup
// Edge data (source/target node indices, thickness, head/tail ratios) is fetched from edge data texture
// Edge path attributes (curvature, etc.) are fetched from edge attribute texture
in float a_edgeIndex;       // Index into edge data texture
in float a_edgeAttrIndex;   // Index into edge attribute texture (for curvature, etc.)
in float a_baseFontSize;    // Base font size in pixels (per-label)

// Character metrics (in glyph units = atlas font size pixels)
in vec4 a_charMetrics;      // (charTextOffset, charAdvance, totalTextWidth, positionMode)
in vec4 a_charDims;         // (charSize.x, charSize.y, charOffset.x, charOffset.y)

// Atlas texture coordinates
in vec4 a_texCoords;        // (x, y, width, height) in atlas pixels

// Label parameters
in vec2 a_labelParams;      // (margin, unused)

// Appearance
in vec4 a_color;            // Character color (RGBA, normalized)
`.concat(t?"in vec4 a_borderColor;      // Border color (RGBA, normalized)":"",`

// ============================================================================
// Attributes - Per Vertex (Constant)
// ============================================================================

in vec2 a_quadCorner;       // Quad corner: (0,0), (1,0), (0,1), (1,1)

// ============================================================================
// Uniforms
// ============================================================================

uniform mat3 u_matrix;
uniform float u_sizeRatio;
uniform float u_correctionRatio;
uniform float u_pixelRatio;
uniform float u_cameraAngle;    // Required by node shape SDFs
// u_sdfBufferPixels kept for ABI compatibility but unused in shader
uniform float u_sdfBufferPixels;
uniform vec2 u_resolution;
uniform vec2 u_atlasSize;
uniform sampler2D u_nodeDataTexture; // Shared texture with node position/size/shape data
uniform int u_nodeDataTextureWidth;  // Width of 2D node data texture for coordinate calculation
uniform sampler2D u_edgeDataTexture; // Shared texture with edge data
uniform int u_edgeDataTextureWidth;  // Width of 2D edge data texture for coordinate calculation
uniform sampler2D u_edgeFrameTexture; // Per-edge clamp (tStart, tEnd, straightenFactor, pathLength)
uniform int u_edgeFrameTextureWidth;
`).concat(p?"uniform float u_zoomSizeRatio;  // Zoom-based size ratio from zoomToSizeRatioFunction":"",`

// Edge path attribute texture uniforms (for curvature and other path attributes)
`).concat(b.uniformDeclarations,`

// ============================================================================
// Varyings
// ============================================================================

out vec2 v_texCoord;
out vec4 v_color;
`).concat(t?"out vec4 v_borderColor;":"",`
out float v_edgeFade;  // 0 = fully visible, 1 = fully faded (outside body)
out float v_alphaModifier;  // 0-1 based on label visibility ratio
out float v_fontScale;  // Ratio of rendered font size to atlas font size
`).concat(t?"out float v_positionMode;  // Position mode for conditional border (0=over needs border)":"",`

// ============================================================================
// Constants
// ============================================================================

const float bias = 255.0 / 254.0;
const float FADE_WIDTH_PIXELS = 15.0;  // Width of fade gradient in pixels
const float ATLAS_FONT_SIZE = `).concat(pe(Gf),`;  // Base font size used in SDF atlas
const float VERTICAL_CENTER_RATIO = `).concat(pe(zf),`;  // Baseline to visual center ratio

// ============================================================================
// Path Attribute Variables (set in main, used by path functions)
// ============================================================================
// Path attributes are fetched from the edge attribute texture and stored in
// variables with v_ prefix (e.g., v_curvature) for path functions to access.
`).concat(b.vertexVaryingDeclarations.replace(/out /g,""),`

// Node size variables (set in main, used by some path functions like loops).
// These mirror the v_sourceNodeSize / v_targetNodeSize varyings in generator.ts,
// but are plain floats here since the label shader is vertex-only.
float v_sourceNodeSize;
float v_targetNodeSize;

// Shared preamble: shape SDFs, path functions + selectors, clamp, helpers.
`).concat(dl({paths:n,minVisibilityThreshold:s,fullVisibilityThreshold:d}),`

// ============================================================================
// Main
// ============================================================================

void main() {
  // -------------------------------------------------------------------------
  // Fetch edge data from edge texture (2 texels per edge)
  // -------------------------------------------------------------------------
  // Texel 0: sourceNodeIndex, targetNodeIndex, thickness, reserved
  // Texel 1: headLengthRatio, tailLengthRatio, pathId, extremityIds
  int edgeIdx = int(a_edgeIndex);
  int texel0Idx = edgeIdx * 2;
  int texel1Idx = edgeIdx * 2 + 1;
  ivec2 edgeTexCoord0 = ivec2(texel0Idx % u_edgeDataTextureWidth, texel0Idx / u_edgeDataTextureWidth);
  ivec2 edgeTexCoord1 = ivec2(texel1Idx % u_edgeDataTextureWidth, texel1Idx / u_edgeDataTextureWidth);
  vec4 edgeData0 = texelFetch(u_edgeDataTexture, edgeTexCoord0, 0);
  vec4 edgeData1 = texelFetch(u_edgeDataTexture, edgeTexCoord1, 0);

  // Unpack edge data
  int srcIdx = int(edgeData0.x);
  int tgtIdx = int(edgeData0.y);
  float thickness = edgeData0.z;
  // edgeData0.w is reserved
  float headLengthRatio = edgeData1.x;
  float tailLengthRatio = edgeData1.y;
  int pathId = int(edgeData1.z);  // Path type for multi-path support
  float baseFontSize = a_baseFontSize;

  // -------------------------------------------------------------------------
  // Fetch path attributes from edge attribute texture
  // -------------------------------------------------------------------------
  // Note: The fetch code uses 'edgeIdx' variable, so we set it to the attribute texture index
  {
    int edgeIdx = int(a_edgeAttrIndex);  // Use attribute texture index for path attributes
`).concat(b.fetchCode,`
`).concat(b.varyingAssignments,`
  }

  // -------------------------------------------------------------------------
  // Fetch node data from node texture (geometry texel + rotation-flags texel)
  // -------------------------------------------------------------------------
  vec4 srcNodeData = readNodeData(u_nodeDataTexture, u_nodeDataTextureWidth, srcIdx);
  vec4 tgtNodeData = readNodeData(u_nodeDataTexture, u_nodeDataTextureWidth, tgtIdx);

  vec2 source = srcNodeData.xy;
  vec2 target = tgtNodeData.xy;
  float sourceSize = srcNodeData.z;
  float targetSize = tgtNodeData.z;
  v_sourceNodeSize = sourceSize;
  v_targetNodeSize = targetSize;
  float charTextOffset = a_charMetrics.x;
  float charAdvance = a_charMetrics.y;
  float totalTextWidth = a_charMetrics.z;
  float positionMode = a_charMetrics.w;
  vec2 charSize = a_charDims.xy;
  vec2 charOffset = a_charDims.zw;
  float margin = a_labelParams.x;

  // -------------------------------------------------------------------------
  // Compute pixel-to-graph conversion (for fixed font size mode)
  // -------------------------------------------------------------------------
  // This converts screen pixels to graph units such that N pixels on screen
  // becomes N pixels regardless of zoom level.
  // matrixScaleX is how much the matrix scales graph units to clip space
  float matrixScaleX = length(vec2(u_matrix[0][0], u_matrix[1][0]));
  float pixelToGraph = 2.0 / (matrixScaleX * u_resolution.x);

  // -------------------------------------------------------------------------
  // Step 1: Convert thickness to WebGL units
  // -------------------------------------------------------------------------
  float webGLThickness = thickness * u_correctionRatio / u_sizeRatio;

  // -------------------------------------------------------------------------
  // Step 2: Compute body bounds (truncated at node boundaries + extremities)
  // -------------------------------------------------------------------------
  vec4 edgeClamp = readFrameTexel(u_edgeFrameTexture, u_edgeFrameTextureWidth, edgeIdx);
  vec3 bodyBounds = computeEdgeLabelBodyBounds(
    edgeClamp.x, edgeClamp.y, edgeClamp.w,
    webGLThickness, headLengthRatio, tailLengthRatio
  );
  float bodyStartDist = bodyBounds.x;
  float bodyEndDist = bodyBounds.y;
  float bodyLength = bodyBounds.z;

  // -------------------------------------------------------------------------
  // Step 3: Compute font scale and text dimensions
  // -------------------------------------------------------------------------
  // Font size modes:
  // - "fixed": Constant pixel size regardless of zoom, using pixelToGraph conversion
  // - "scaled": Scales with zoom using zoomToSizeRatioFunction
  `).concat(p?`// Scaled mode: font scales with zoom
  float fontScale = baseFontSize / ATLAS_FONT_SIZE * u_zoomSizeRatio;
  // Convert glyph-unit metrics to WebGL units (scales with zoom)
  float textWidthWebGL = totalTextWidth * fontScale * u_correctionRatio / u_sizeRatio;
  float charOffsetWebGL = charTextOffset * fontScale * u_correctionRatio / u_sizeRatio;
  float charAdvanceWebGL = charAdvance * fontScale * u_correctionRatio / u_sizeRatio;`:`// Fixed mode: font stays constant in screen pixels
  float fontScale = baseFontSize / ATLAS_FONT_SIZE;
  // Convert glyph-unit metrics to graph units using pixelToGraph (zoom-independent)
  float textWidthWebGL = totalTextWidth * fontScale * pixelToGraph;
  float charOffsetWebGL = charTextOffset * fontScale * pixelToGraph;
  float charAdvanceWebGL = charAdvance * fontScale * pixelToGraph;`,`

  // Font scale varying for fragment shader gamma scaling.
  // Ratio of rendered font size to atlas font size — used to tighten the
  // anti-aliasing band for large labels so they stay sharp.
  v_fontScale = fontScale;

  // -------------------------------------------------------------------------
  // Step 4: Alpha modifier from how much of the label fits in the body
  // -------------------------------------------------------------------------
  float alphaModifier = computeEdgeLabelAlpha(bodyLength, textWidthWebGL);

  // -------------------------------------------------------------------------
  // Step 5: Compute character center offset (truncation check moved to after curvature adjustment)
  // -------------------------------------------------------------------------
  // Body center in arc distance
  float bodyCenterDist = (bodyStartDist + bodyEndDist) * 0.5;

  float centerT = queryPathTAtDistance(pathId, bodyCenterDist, source, target);
  float screenDir = computeEdgeLabelScreenDir(pathId, centerT, source, target, u_matrix);

  // Reversed labels lay their characters out from target to source
  float readingSign = `).concat(f?"screenDir":"1.0",`;

  // Character center position relative to label center (on centerline, before curvature adjustment)
  float charCenterOffset = readingSign * (charOffsetWebGL + charAdvanceWebGL * 0.5 - textWidthWebGL * 0.5);

  // -------------------------------------------------------------------------
  // Step 6: Compute perpendicular offset based on position mode
  // -------------------------------------------------------------------------
  // Position modes: 0=over, 1=above, 2=below, 3=auto
  // Needed early for curvature-adaptive character spacing in Step 7
  float halfThickness = webGLThickness * 0.5;
  `).concat(p?`// Scaled mode: margin and text height scale with zoom (same factor as font)
  float marginWebGL = margin * u_zoomSizeRatio * u_correctionRatio / u_sizeRatio;
  float halfTextHeight = baseFontSize * 0.35 * u_zoomSizeRatio * u_correctionRatio / u_sizeRatio;`:`// Fixed mode: margin and text height stay constant in screen pixels
  float marginWebGL = margin * pixelToGraph;
  float halfTextHeight = baseFontSize * 0.35 * pixelToGraph;`,`
  float perpOffset = computeEdgeLabelPerpOffset(
    positionMode, halfThickness, marginWebGL, halfTextHeight, readingSign, screenDir
  );

  // -------------------------------------------------------------------------
  // Step 7: Position character on path using offset path traversal
  // -------------------------------------------------------------------------
  // For "over" mode (perpOffset = 0), use simple centerline placement
  // For above/below modes, walk along the offset path to find correct position
  float charT;

  if (perpOffset == 0.0) {
    // Simple case: place on centerline
    float charArcDist = bodyCenterDist + charCenterOffset;
    charT = queryPathTAtDistance(pathId, charArcDist, source, target);
  } else {
    // Offset path traversal: walk along the offset curve to find character position
    // This ensures even character spacing regardless of curvature

    `).concat(h?`// -----------------------------------------------------------------------
    // Corner skip setup for step/taxi edges with above/below labels
    // -----------------------------------------------------------------------
    // At concave corners (inner side of the bend), characters would bunch up
    // because the offset path has near-zero arc length. We detect corner
    // crossings during the offset path traversal and add skip distance.

    // Get corner t values and concavity
    vec2 cornerTs = queryGetCornerTs(pathId, source, target);
    vec2 concavity = queryGetCornerConcavity(pathId, source, target, perpOffset);

    // Skip distance in graph units, proportional to on-screen font size
    // For fixed mode: use pixelToGraph so gap stays constant regardless of zoom
    // For scaled mode: use the same conversion as text width
    `.concat(p?"float skipDistGraph = STEP_INNER_CORNER_SKIP_FACTOR * baseFontSize * u_zoomSizeRatio * u_correctionRatio / u_sizeRatio;":"float skipDistGraph = STEP_INNER_CORNER_SKIP_FACTOR * baseFontSize * pixelToGraph;",`

    // Corner t values for detecting crossings during traversal
    float corner1T = cornerTs.x;
    float corner2T = cornerTs.y;
    bool corner1IsConcave = concavity.x > 0.5;
    bool corner2IsConcave = concavity.y > 0.5;`):"",`

    // Target distance along offset path from center
    float targetOffsetDist = abs(charCenterOffset);

    // Handle center character (charCenterOffset ≈ 0) - no search needed
    if (targetOffsetDist < 0.0001) {
      charT = centerT;
    } else {
      vec2 centerPos = queryPathPosition(pathId, centerT, source, target);
      vec2 centerNormal = queryPathNormal(pathId, centerT, source, target);
      vec2 offsetCenter = centerPos + centerNormal * perpOffset;

      float searchDir = charCenterOffset > 0.0 ? 1.0 : -1.0;

      // Search bounds (t values for body start and end)
      float tBodyStart = queryPathTAtDistance(pathId, bodyStartDist, source, target);
      float tBodyEnd = queryPathTAtDistance(pathId, bodyEndDist, source, target);

      // Walk along offset path to find character position
      float accumDist = 0.0;
      vec2 prevOffsetPos = offsetCenter;
      float prevT = centerT;
      float foundT = centerT;

      // Search range depends on direction
      float tSearchEnd = searchDir > 0.0 ? tBodyEnd : tBodyStart;

      `).concat(h?`// Track which concave corners we've crossed to add skip distance
      bool crossedCorner1 = false;
      bool crossedCorner2 = false;
      float effectiveTargetDist = targetOffsetDist;`:"",`

      const int STEPS = 32;
      for (int i = 1; i <= STEPS; i++) {
        // Step along centerline t, from center toward target
        float stepT = centerT + searchDir * float(i) * abs(tSearchEnd - centerT) / float(STEPS);

        `).concat(h?`// Check for concave corner crossings and add skip distance
        // Corner 1 crossing check
        if (corner1IsConcave && !crossedCorner1) {
          bool crossingCorner1 = (searchDir > 0.0)
            ? (prevT < corner1T && stepT >= corner1T)
            : (prevT > corner1T && stepT <= corner1T);
          if (crossingCorner1) {
            crossedCorner1 = true;
            effectiveTargetDist += skipDistGraph;
          }
        }

        // Corner 2 crossing check
        if (corner2IsConcave && !crossedCorner2) {
          bool crossingCorner2 = (searchDir > 0.0)
            ? (prevT < corner2T && stepT >= corner2T)
            : (prevT > corner2T && stepT <= corner2T);
          if (crossingCorner2) {
            crossedCorner2 = true;
            effectiveTargetDist += skipDistGraph;
          }
        }`:"",`

        // Compute offset position at this t
        vec2 stepPos = queryPathPosition(pathId, stepT, source, target);
        vec2 stepNormal = queryPathNormal(pathId, stepT, source, target);
        vec2 offsetPos = stepPos + stepNormal * perpOffset;

        // Distance along offset path
        float segDist = length(offsetPos - prevOffsetPos);

        `).concat(h?`if (accumDist + segDist >= effectiveTargetDist) {
          // Interpolate within segment to find exact t
          float remaining = effectiveTargetDist - accumDist;
          float segT = remaining / max(segDist, 0.0001);
          foundT = mix(prevT, stepT, segT);
          break;
        }`:`if (accumDist + segDist >= targetOffsetDist) {
          // Interpolate within segment to find exact t
          float remaining = targetOffsetDist - accumDist;
          float segT = remaining / max(segDist, 0.0001);
          foundT = mix(prevT, stepT, segT);
          break;
        }`,`

        accumDist += segDist;
        prevOffsetPos = offsetPos;
        prevT = stepT;
        // Update foundT to last valid position in case loop exhausts without finding target
        foundT = stepT;
      }

      charT = foundT;
    }
  }

  // Get position and tangent at final character position
  vec2 pathPos = queryPathPosition(pathId, charT, source, target);
  vec2 tangent = queryPathTangent(pathId, charT, source, target);

  // Compute perpendicular direction (90 degrees from tangent)
  vec2 perpDir = vec2(-tangent.y, tangent.x);

  // Apply perpendicular offset to path position
  vec2 offsetPathPos = pathPos + perpDir * perpOffset;

  // -------------------------------------------------------------------------
  // Step 8: Build character quad
  // -------------------------------------------------------------------------
  // Character size in screen pixels
  vec2 charSizePixels = charSize * fontScale;

  // Character offset from origin to the atlas region's top-left corner.
  // bearingX/bearingY already include the SDF buffer.
  vec2 charOffsetPixels = charOffset * fontScale;

  // The character's local X offset from pathPos (which is at character center)
  float charLocalX = -charAdvance * 0.5 * fontScale;

  // Build quad position:
  // - Start at character origin (charLocalX on X axis, 0 on Y axis = baseline)
  // - Add bearing offset to get to atlas region corner
  // - Add quad corner * size to get vertex position
  vec2 quadPos;
  quadPos.x = charLocalX + charOffsetPixels.x + a_quadCorner.x * charSizePixels.x;
  // charOffset.y = -bearingY (negated), so -charOffsetPixels.y = bearingY * fontScale
  // (distance from baseline to atlas region top, positive = upward)
  // Quad corner (0,0) = bottom-left, (1,1) = top-right
  quadPos.y = -charOffsetPixels.y - charSizePixels.y * (1.0 - a_quadCorner.y);

  // Center vertically on the path by offsetting by half the visual text height
  // VERTICAL_CENTER_RATIO is the distance from baseline to visual center as a ratio of atlas font size
  float verticalCenterOffset = VERTICAL_CENTER_RATIO * ATLAS_FONT_SIZE * fontScale;
  quadPos.y -= verticalCenterOffset;

  // -------------------------------------------------------------------------
  // Step 9: Rotate quad to align with tangent
  // -------------------------------------------------------------------------
  // Rotation matrix from the reading direction
  // readingDir = (cos(angle), sin(angle)), so we can build rotation directly
  vec2 readingDir = tangent * readingSign;
  mat2 rotation = mat2(readingDir.x, readingDir.y, -readingDir.y, readingDir.x);

  // Convert pixel offset to WebGL units for rotation
  `).concat(p?"vec2 quadPosWebGL = quadPos * u_correctionRatio / u_sizeRatio; // Scaled mode":"vec2 quadPosWebGL = quadPos * pixelToGraph; // Fixed mode: use pixelToGraph for zoom-independent size",`

  // Rotate around character center on path
  vec2 rotatedOffset = rotation * quadPosWebGL;

  // Final position in graph space (using offset path position for above/below modes)
  vec2 worldPos = offsetPathPos + rotatedOffset;

  // -------------------------------------------------------------------------
  // Step 10: Transform to clip space
  // -------------------------------------------------------------------------
  vec3 clipPos = u_matrix * vec3(worldPos, 1.0);
  gl_Position = vec4(clipPos.xy, 0.0, 1.0);

  // -------------------------------------------------------------------------
  // Step 11: Texture coordinates
  // -------------------------------------------------------------------------
  // Flip Y for texture coordinates (texture Y goes down, quad Y goes up)
  vec2 texCorner = vec2(a_quadCorner.x, 1.0 - a_quadCorner.y);
  v_texCoord = (a_texCoords.xy + texCorner * a_texCoords.zw) / u_atlasSize;

  // -------------------------------------------------------------------------
  // Step 12: Pass color, border color, and alpha modifier
  // -------------------------------------------------------------------------
  v_color = a_color;
  v_color.a *= bias;
`).concat(t?`  v_borderColor = a_borderColor;
  v_borderColor.a *= bias;
  v_positionMode = positionMode;`:"",`
  v_alphaModifier = alphaModifier;

  // -------------------------------------------------------------------------
  // Step 13: Compute edge fade for soft truncation
  // -------------------------------------------------------------------------
  // Convert fade width from pixels to WebGL units
  `).concat(p?"float fadeWidthWebGL = FADE_WIDTH_PIXELS * u_correctionRatio / u_sizeRatio;":"float fadeWidthWebGL = FADE_WIDTH_PIXELS * pixelToGraph;",`

  // Compute the arc position of THIS VERTEX (not just character center)
  // The quad extends from charCenter - advance/2 to charCenter + advance/2
  // a_quadCorner.x is 0 for left edge, 1 for right edge
  float vertexLocalOffset = readingSign * (a_quadCorner.x - 0.5) * charAdvanceWebGL;
  float vertexArcOffset = charCenterOffset + vertexLocalOffset;

  // Compute distance from body edges (positive = inside body, negative = outside)
  float halfBody = bodyLength * 0.5;
  float distFromStart = vertexArcOffset + halfBody;  // Distance from body start edge
  float distFromEnd = halfBody - vertexArcOffset;    // Distance from body end edge
  float distFromEdge = min(distFromStart, distFromEnd);

  // Compute fade: 0 = fully visible (deep inside body), 1 = fully faded (at body edge)
  // Fade goes from 0 (at 2*fadeWidth inside) to 1 (at body edge)
  // This ensures text is fully transparent before reaching extremities
  v_edgeFade = 1.0 - smoothstep(0.0, fadeWidthWebGL * 2.0, distFromEdge);
}
`);return g}function Wf(){var a=arguments.length>0&&arguments[0]!==void 0?arguments[0]:{},n=a.hasBorder,e=n===void 0?!1:n,t=`#version 300 es
precision highp float;

in vec2 v_texCoord;
in vec4 v_color;
`.concat(e?"in vec4 v_borderColor;":"",`
in float v_edgeFade;  // 0 = fully visible, 1 = fully faded
in float v_alphaModifier;  // 0-1 based on label visibility ratio
in float v_fontScale;  // Ratio of rendered font size to atlas font size
`).concat(e?"in float v_positionMode;  // Position mode (0=over, 1=above, 2=below, 3=auto)":"",`

uniform sampler2D u_atlas;
uniform float u_gamma;
uniform float u_sdfBuffer;
uniform float u_pixelRatio;
`).concat(e?"uniform float u_borderWidth;  // Border width in SDF units (normalized)":"",`

// Fragment output (single target - picking handled via separate pass)
out vec4 fragColor;

void main() {
  #ifdef PICKING_MODE
    // Edge labels are not pickable - discard all fragments in picking mode
    fragColor = vec4(0.0);
    discard;
  #else
  // SDF stores normalized distance: 0.5 = on edge, >0.5 = inside glyph
  float sdfValue = texture(u_atlas, v_texCoord).a;

  // Edge threshold accounting for SDF buffer padding
  float edge = 1.0 - u_sdfBuffer;

  // Scale gamma inversely with font scale so small labels get a wider AA band
  // (smoother) and large labels get a tighter band (sharper).
  float aaWidth = u_gamma / (u_pixelRatio * v_fontScale);

  // Apply edge fade for soft truncation at body boundaries
  // Also apply visibility-based alpha modifier for short edge labels
  float edgeAlpha = (1.0 - v_edgeFade) * v_alphaModifier;

`).concat(e?`  // Fill alpha: fully opaque inside the glyph
  float fillAlpha = smoothstep(edge - aaWidth, edge + aaWidth, sdfValue);

  // Only apply border for "over" position mode (v_positionMode == 0.0)
  // Labels positioned above/below/auto don't overlap the edge line and don't need borders
  if (v_positionMode < 0.5) {
    // Border rendering: compute alpha for both fill and border regions
    // Border extends from (edge - borderWidth) to edge
    float borderEdge = edge - u_borderWidth;

    // Border alpha: opaque in the border region (between borderEdge and edge)
    float borderAlpha = smoothstep(borderEdge - aaWidth, borderEdge + aaWidth, sdfValue);

    // Composite: fill on top of border
    // Border is visible where borderAlpha > 0 but fillAlpha < 1
    vec3 borderColorPremult = v_borderColor.rgb * v_borderColor.a * borderAlpha * edgeAlpha;
    vec3 fillColorPremult = v_color.rgb * v_color.a * fillAlpha * edgeAlpha;

    // Blend fill over border (fill replaces border where fill is opaque)
    float finalBorderAlpha = borderAlpha * (1.0 - fillAlpha);
    vec3 finalColor = fillColorPremult + v_borderColor.rgb * v_borderColor.a * finalBorderAlpha * edgeAlpha;
    float finalAlpha = (v_color.a * fillAlpha + v_borderColor.a * finalBorderAlpha) * edgeAlpha;

    fragColor = vec4(finalColor, finalAlpha);
  } else {
    // No border for above/below/auto positions - simple text rendering
    float finalAlpha = v_color.a * fillAlpha * edgeAlpha;
    fragColor = vec4(v_color.rgb * finalAlpha, finalAlpha);
  }`:`  // Smooth transition from transparent to opaque at glyph edge
  float alpha = smoothstep(edge - aaWidth, edge + aaWidth, sdfValue);

  // Premultiplied alpha output
  float finalAlpha = v_color.a * alpha * edgeAlpha;
  fragColor = vec4(v_color.rgb * finalAlpha, finalAlpha);`,`
  #endif
}
`);return t}function Bf(a){var n=arguments.length>1&&arguments[1]!==void 0?arguments[1]:!1,e=arguments.length>2&&arguments[2]!==void 0?arguments[2]:"fixed",t=["u_matrix","u_sizeRatio","u_correctionRatio","u_pixelRatio","u_cameraAngle","u_sdfBufferPixels","u_resolution","u_atlasSize","u_atlas","u_gamma","u_sdfBuffer","u_nodeDataTexture","u_nodeDataTextureWidth","u_edgeDataTexture","u_edgeDataTextureWidth","u_edgeFrameTexture","u_edgeFrameTextureWidth","u_edgeAttributeTexture","u_edgeAttributeTextureWidth","u_edgeAttributeTexelsPerEdge"];e==="scaled"&&t.push("u_zoomSizeRatio"),n&&t.push("u_borderWidth");var r=O(a),i;try{for(r.s();!(i=r.n()).done;){var o=i.value,s=O(o.uniforms),l;try{for(s.s();!(l=s.n()).done;){var d=l.value;t.includes(d.name)||t.push(d.name)}}catch(c){s.e(c)}finally{s.f()}}}catch(c){r.e(c)}finally{r.f()}return t}function Uf(a){var n=a.hasBorder,e=n===void 0?!1:n,t=a.fontSizeMode,r=t===void 0?"fixed":t;return{vertexShader:Of(a),fragmentShader:Wf({hasBorder:e}),uniforms:Bf(a.paths,e,r)}}var Hf=new Map;function $f(a){switch(a){case"over":return 0;case"above":return 1;case"below":return 2;case"auto":return 3;default:return 0}}function Vf(a,n,e,t){var r=t.color,i=t.margin,o=t.textBorder,s=cl(t),l=s.paths,d=s.fontSizeMode,c=s.minVisibilityThreshold,f=s.fullVisibilityThreshold,p=s.keepUpright,h=!!o,v=Uf({paths:l,hasBorder:h,fontSizeMode:d,minVisibilityThreshold:c,fullVisibilityThreshold:f,keepUpright:p}),y=(function(b){function g(m,_,x){var T;J(this,g),T=he(this,g,[m,_,x]),w(T,"atlasTexture",null),w(T,"atlasNeedsUpdate",!1),w(T,"refreshTimeout",null),w(T,"labelGlyphCache",new Map),w(T,"edgeAttributeTexture",null);var S=je();if(T.attributeLayout=Be([].concat(q(l),[S])),T.attrDescriptors=Ba([].concat(q(l),[S]),T.attributeLayout),T.edgeAttributeTexture=new Wa(m,T.attributeLayout),T.packedAttributeData=new Float32Array(T.attributeLayout.floatsPerItem),T.atlasManager=new xt,T.gamma=.025,T.sdfBuffer=qe.cutoff,T.atlasTexture=m.createTexture(),!T.atlasTexture)throw new Error("EdgeLabelProgram: failed to create atlas texture");m.bindTexture(m.TEXTURE_2D,T.atlasTexture),m.texParameteri(m.TEXTURE_2D,m.TEXTURE_WRAP_S,m.CLAMP_TO_EDGE),m.texParameteri(m.TEXTURE_2D,m.TEXTURE_WRAP_T,m.CLAMP_TO_EDGE),m.texParameteri(m.TEXTURE_2D,m.TEXTURE_MIN_FILTER,m.LINEAR),m.texParameteri(m.TEXTURE_2D,m.TEXTURE_MAG_FILTER,m.LINEAR),m.bindTexture(m.TEXTURE_2D,null),T.atlasManager.on(xt.ATLAS_UPDATED_EVENT,function(){T.atlasNeedsUpdate=!0,T.refreshTimeout!==null&&clearTimeout(T.refreshTimeout),T.refreshTimeout=setTimeout(function(){T.refreshTimeout=null,T.renderer.refresh()},0)});var A={family:"sans-serif",weight:"normal",style:"normal"};return T.defaultFontKey=T.atlasManager.registerFont(A),T}return fe(g,b),ee(g,[{key:"getDefinition",value:function(){var _=WebGL2RenderingContext,x=_.FLOAT,T=_.UNSIGNED_BYTE,S=_.TRIANGLE_STRIP,A=new Set,E=[],D=O(l),k;try{for(D.s();!(k=D.n()).done;){var P=k.value,R=O(P.attributes),C;try{for(R.s();!(C=R.n()).done;){var L=C.value,M=L.name.startsWith("a_")?L.name:"a_".concat(L.name);A.has(M)||(A.add(M),E.push({name:M,size:L.size,type:L.type}))}}catch(G){R.e(G)}finally{R.f()}}}catch(G){D.e(G)}finally{D.f()}return{VERTICES:4,VERTEX_SHADER_SOURCE:v.vertexShader,FRAGMENT_SHADER_SOURCE:v.fragmentShader,METHOD:S,UNIFORMS:v.uniforms,ATTRIBUTES:[{name:"a_edgeIndex",size:1,type:x},{name:"a_edgeAttrIndex",size:1,type:x},{name:"a_baseFontSize",size:1,type:x},{name:"a_charMetrics",size:4,type:x},{name:"a_charDims",size:4,type:x},{name:"a_texCoords",size:4,type:x},{name:"a_labelParams",size:2,type:x},{name:"a_color",size:4,type:T,normalized:!0}].concat(q(h?[{name:"a_borderColor",size:4,type:T,normalized:!0}]:[]),q(E.filter(function(G){return!["a_curvature","curvature"].includes(G.name)}))),CONSTANT_ATTRIBUTES:[{name:"a_quadCorner",size:2,type:x}],CONSTANT_DATA:[[0,0],[1,0],[0,1],[1,1]]}}},{key:"prepareLabelGlyphs",value:function(_,x){if(x.hidden||!x.text){this.labelGlyphCache.delete(_);return}var T=x.text,S=x.fontKey||this.defaultFontKey;this.atlasManager.ensureGlyphs(T,S);var A=[],E=[],D=0,k=O(T),P;try{for(k.s();!(P=k.n()).done;){var R=P.value,C=R.codePointAt(0);if(C===void 0){A.push(void 0),E.push(D);continue}var L=this.atlasManager.getGlyph(C,S);A.push(L),E.push(D),L&&(D+=L.advance)}}catch(M){k.e(M)}finally{k.f()}this.labelGlyphCache.set(_,{glyphs:A,xOffsets:E,totalWidth:D})}},{key:"processCharacter",value:function(_,x,T,S){var A,E,D,k=this.floats,P=this.STRIDE,R=_*P,C=this.labelGlyphCache.get(x.parentKey);if(!C||!C.glyphs[S]){for(var L=0;L<P;L++)k[R+L]=0;return}var M=C.glyphs[S],G=C.xOffsets[S],N=g.labelColor,F=N&&te(N)==="object"&&"color"in N&&N.color?N.color:x.color,I=Oe(F),z=R;k[z++]=x.edgeIndex,k[z++]=(A=(E=this.edgeAttributeTexture)===null||E===void 0?void 0:E.getIndex(x.parentKey))!==null&&A!==void 0?A:0,k[z++]=x.size,k[z++]=G,k[z++]=M.advance,k[z++]=C.totalWidth,k[z++]=$f(x.position),k[z++]=M.atlasWidth,k[z++]=M.atlasHeight,k[z++]=M.bearingX,k[z++]=-M.bearingY,k[z++]=M.atlasX,k[z++]=M.atlasY,k[z++]=M.atlasWidth,k[z++]=M.atlasHeight;var X=(D=g.labelMargin)!==null&&D!==void 0?D:x.margin;if(k[z++]=X,k[z++]=0,k[z++]=I,h&&o){var H;typeof o.color=="string"?H=o.color:H=o.color.color||"#ffffff",k[z++]=Oe(H)}var Q=new Set,K=O(l),Z;try{for(K.s();!(Z=K.n()).done;){var De=Z.value,_e=O(De.attributes),Re;try{for(_e.s();!(Re=_e.n()).done;){var Ve=Re.value,Ye=Ve.name.startsWith("a_")?Ve.name.slice(2):Ve.name;if(Ye!=="curvature"&&!Q.has(Ye)){Q.add(Ye);for(var ht=0;ht<Ve.size;ht++)k[z++]=0}}}catch(ft){_e.e(ft)}finally{_e.f()}}}catch(ft){K.e(ft)}finally{K.f()}}},{key:"processEdgeLabel",value:function(_,x,T){if(this.prepareLabelGlyphs(_,T),this.edgeAttributeTexture&&!T.hidden&&T.text){this.edgeAttributeTexture.allocate(_);var S=this.packedAttributeData;Ua(this.attrDescriptors,T.edgeAttributes,S,"",Hf,0),this.edgeAttributeTexture.updateAllAttributes(_,S)}return ye(g,"processLabel",this,3)([_,x,T])}},{key:"updateAtlasTexture",value:function(){if(this.atlasNeedsUpdate){var _=this.normalProgram.gl,x=this.atlasManager.getTextures();if(x.length!==0){var T=x[0];_.bindTexture(_.TEXTURE_2D,this.atlasTexture),_.texImage2D(_.TEXTURE_2D,0,_.RGBA,T.width,T.height,0,_.RGBA,_.UNSIGNED_BYTE,T.data),_.bindTexture(_.TEXTURE_2D,null),this.atlasNeedsUpdate=!1}}}},{key:"setUniforms",value:function(_,x){var T=x.gl,S=x.uniformLocations,A=this.atlasManager.getTextures(),E=A.length>0?[A[0].width,A[0].height]:[1,1];if(T.uniformMatrix3fv(S.u_matrix,!1,_.matrix),T.uniform1f(S.u_sizeRatio,_.sizeRatio),T.uniform1f(S.u_correctionRatio,_.correctionRatio),T.uniform1f(S.u_pixelRatio,_.pixelRatio),T.uniform1f(S.u_cameraAngle,_.cameraAngle),T.uniform1f(S.u_sdfBufferPixels,qe.buffer),T.uniform2f(S.u_resolution,_.width,_.height),T.uniform2f(S.u_atlasSize,E[0],E[1]),T.uniform1f(S.u_gamma,this.gamma),T.uniform1f(S.u_sdfBuffer,this.sdfBuffer),T.activeTexture(T.TEXTURE0),T.bindTexture(T.TEXTURE_2D,this.atlasTexture),T.uniform1i(S.u_atlas,0),S.u_nodeDataTexture!==void 0&&T.uniform1i(S.u_nodeDataTexture,_.nodeDataTextureUnit),S.u_nodeDataTextureWidth!==void 0&&T.uniform1i(S.u_nodeDataTextureWidth,_.nodeDataTextureWidth),S.u_edgeDataTexture!==void 0&&T.uniform1i(S.u_edgeDataTexture,_.edgeDataTextureUnit),S.u_edgeDataTextureWidth!==void 0&&T.uniform1i(S.u_edgeDataTextureWidth,_.edgeDataTextureWidth),S.u_edgeFrameTexture!==void 0&&T.uniform1i(S.u_edgeFrameTexture,_.edgeFrameTextureUnit),S.u_edgeFrameTextureWidth!==void 0&&T.uniform1i(S.u_edgeFrameTextureWidth,_.edgeFrameTextureWidth),h&&o&&S.u_borderWidth!==void 0){var D=o.width/qe.buffer*this.sdfBuffer;T.uniform1f(S.u_borderWidth,D)}if(this.edgeAttributeTexture&&S.u_edgeAttributeTexture!==void 0&&(this.edgeAttributeTexture.bind(dt),T.uniform1i(S.u_edgeAttributeTexture,dt),T.uniform1i(S.u_edgeAttributeTextureWidth,this.edgeAttributeTexture.getTextureWidth()),T.uniform1i(S.u_edgeAttributeTexelsPerEdge,this.edgeAttributeTexture.getTexelsPerItem())),d==="scaled"&&S.u_zoomSizeRatio!==void 0){var k=this.renderer.getSetting("zoomToSizeRatioFunction"),P=1/k(_.zoomRatio);T.uniform1f(S.u_zoomSizeRatio,P)}}},{key:"renderProgram",value:function(_,x){this.updateAtlasTexture(),this.atlasManager.hasPendingGlyphs()&&(this.atlasManager.flush(),this.updateAtlasTexture()),this.edgeAttributeTexture&&this.edgeAttributeTexture.upload(),ye(g,"renderProgram",this,3)([_,x])}},{key:"registerFont",value:function(_){var x=arguments.length>1&&arguments[1]!==void 0?arguments[1]:"normal",T=arguments.length>2&&arguments[2]!==void 0?arguments[2]:"normal";return this.atlasManager.registerFont({family:_,weight:x,style:T})}},{key:"getAtlasManager",value:function(){return this.atlasManager}},{key:"ensureGlyphsReady",value:function(_,x){var T=x||this.defaultFontKey,S=O(_),A;try{for(S.s();!(A=S.n()).done;){var E=A.value;this.atlasManager.ensureGlyphs(E,T)}}catch(D){S.e(D)}finally{S.f()}this.atlasManager.flush()}},{key:"measureLabelAtlasWidth",value:function(_,x){var T=x||this.defaultFontKey;this.atlasManager.ensureGlyphs(_,T),this.atlasManager.hasPendingGlyphs()&&this.atlasManager.flush();var S=0,A=O(_),E;try{for(A.s();!(E=A.n()).done;){var D=E.value,k=D.codePointAt(0);if(k!==void 0){var P=this.atlasManager.getGlyph(k,T);P&&(S+=P.advance)}}}catch(R){A.e(R)}finally{A.f()}return S}},{key:"measureLabel",value:function(_,x,T){var S=this.measureLabelAtlasWidth(_,T),A=x/qe.fontSize;return{width:S*A,height:x,textHeight:x}}},{key:"kill",value:function(){var _=this.normalProgram.gl;this.refreshTimeout!==null&&(clearTimeout(this.refreshTimeout),this.refreshTimeout=null),this.atlasTexture&&(_.deleteTexture(this.atlasTexture),this.atlasTexture=null),this.edgeAttributeTexture&&(this.edgeAttributeTexture.kill(),this.edgeAttributeTexture=null),this.atlasManager.destroy(),this.labelGlyphCache.clear(),ye(g,"kill",this,3)([])}}])})(nl);return w(y,"labelColor",r),w(y,"labelMargin",i),new y(a,n,e)}function Xf(){var a=`
// No extremity - always returns positive (outside)
float extremity_none(vec2 uv, float lengthRatio, float widthRatio) {
  return 1.0;
}
`;return{name:"none",glsl:a,length:0,widthFactor:1,margin:0,uniforms:[],attributes:[]}}function hl(a,n,e,t,r,i,o){var s,l,d=sl(t),c=d.paths,f=d.layers,p=d.defaultHead,h=d.defaultTail,v=[Xf()].concat(q(d.extremities)),y={},b={};c.forEach(function(R,C){return y[R.name]=C}),v.forEach(function(R,C){return b[R.name]=C});var g=(s=b[p])!==null&&s!==void 0?s:0,m=(l=b[h])!==null&&l!==void 0?l:0,_=null,x=Be([].concat(q(c),q(f))),T=(function(R){function C(L,M,G){var N;J(this,C),_||(_=Hs({paths:c,extremities:v,layers:f,antialias:r})),N=he(this,C,[L,M,G]),w(N,"layerLifecycles",new Map),w(N,"needsShaderRegeneration",!1),w(N,"edgeAttributeTexture",null),w(N,"layout",x),w(N,"attrDescriptors",[]),w(N,"lifecycleIndexOffset",c.length),N._pickingBuffer=M,N.edgeAttributeTexture=new Wa(L,N.layout),N.packedAttributeData=new Float32Array(N.layout.floatsPerItem),f.forEach(function(I,z){if(I.lifecycle){var X={gl:L,renderer:{refresh:function(){return G.refresh()}},getUniformLocation:function(Q){return L.getUniformLocation(N.normalProgram.program,Q)},requestShaderRegeneration:function(){N.needsShaderRegeneration=!0},requestRefresh:function(){G.refresh()}};N.layerLifecycles.set(z,I.lifecycle(X))}}),N.layerLifecycles.forEach(function(I){var z;return(z=I.init)===null||z===void 0?void 0:z.call(I)});var F=new Map;return N.layerLifecycles.forEach(function(I,z){I.getAttributeData&&F.set(c.length+z,I)}),N.attrDescriptors=Ba([].concat(q(c),q(f)),N.layout,F),N}return fe(C,R),ee(C,[{key:"getAttributeTexture",value:function(){return this.edgeAttributeTexture}},{key:"resolveEdgeIds",value:function(M,G,N){var F=M,I=0,z=g,X=m,H=G?F.selfLoopPath:N&&F.parallelPath?F.parallelPath:F.path;H&&y[H]!==void 0&&(I=y[H]),F.head&&F.head!=="none"&&b[F.head]!==void 0&&(z=b[F.head]),F.tail&&F.tail!=="none"&&b[F.tail]!==void 0&&(X=b[F.tail]);var Q=v[z],K=v[X];return{pathId:I,headId:z,tailId:X,headLengthRatio:He(Q.length)?0:Q.length,tailLengthRatio:He(K.length)?0:K.length}}},{key:"getDefinition",value:function(){var M=WebGL2RenderingContext,G=M.TRIANGLE_STRIP,N=G,F=_;return{VERTICES:F.verticesPerEdge,VERTEX_SHADER_SOURCE:F.vertexShader,FRAGMENT_SHADER_SOURCE:F.fragmentShader,METHOD:N,UNIFORMS:F.uniforms,ATTRIBUTES:F.attributes,CONSTANT_ATTRIBUTES:F.constantAttributes,CONSTANT_DATA:F.constantData}}},{key:"maybeRegenerateShaders",value:function(){var M=this;if(this.needsShaderRegeneration){this.needsShaderRegeneration=!1;var G=f.map(function(Q,K){var Z=M.layerLifecycles.get(K);return Z!=null&&Z.regenerate?Z.regenerate():Q});_=Hs({paths:c,extremities:v,layers:G,antialias:this.renderer.getSetting("antialiasEdges")});var N=this.normalProgram.gl,F=this.normalProgram,I=F.program,z=F.buffer,X=F.vertexShader,H=F.fragmentShader;N.deleteProgram(I),N.deleteBuffer(z),N.deleteShader(X),N.deleteShader(H),this.normalProgram=this.getProgramInfo("normal",N,_.vertexShader,_.fragmentShader,this._pickingBuffer)}}},{key:"process",value:function(M,G,N,F,I,z){var X=G*this.STRIDE;if(I.visibility==="hidden"||N.visibility==="hidden"||F.visibility==="hidden"){for(var H=X+this.STRIDE;X<H;X++)this.floats[X]=0;this.floats[G*this.STRIDE]=Js;return}this.processVisibleItem(zt(M),X,N,F,I,z)}},{key:"processVisibleItem",value:function(M,G,N,F,I,z){var X,H=this.floats,Q=this.ints;H[G++]=z,H[G++]=Oe(I.color),Q[G++]=M,H[G++]=(X=I.opacity)!==null&&X!==void 0?X:1;var K=this.packedAttributeData;Ua(this.attrDescriptors,I,K,I.color,this.layerLifecycles,this.lifecycleIndexOffset),this.edgeAttributeTexture.updateAllAttributesAtRow(z,K)}},{key:"setUniforms",value:function(M,G){var N=this,F=G.gl,I=G.uniformLocations;I.u_matrix&&F.uniformMatrix3fv(I.u_matrix,!1,M.matrix),I.u_sizeRatio&&F.uniform1f(I.u_sizeRatio,M.sizeRatio),I.u_correctionRatio&&F.uniform1f(I.u_correctionRatio,M.correctionRatio),I.u_zoomRatio&&F.uniform1f(I.u_zoomRatio,M.zoomRatio),I.u_pixelRatio&&F.uniform1f(I.u_pixelRatio,M.pixelRatio),I.u_cameraAngle&&F.uniform1f(I.u_cameraAngle,M.cameraAngle),I.u_feather&&F.uniform1f(I.u_feather,M.antiAliasingFeather),I.u_minEdgeThickness&&F.uniform1f(I.u_minEdgeThickness,M.minEdgeThickness),I.u_pickingPadding&&F.uniform1f(I.u_pickingPadding,M.edgePickingPadding),I.u_nodeDataTexture&&F.uniform1i(I.u_nodeDataTexture,M.nodeDataTextureUnit),I.u_nodeDataTextureWidth&&F.uniform1i(I.u_nodeDataTextureWidth,M.nodeDataTextureWidth),I.u_edgeDataTexture&&F.uniform1i(I.u_edgeDataTexture,M.edgeDataTextureUnit),I.u_edgeDataTextureWidth&&F.uniform1i(I.u_edgeDataTextureWidth,M.edgeDataTextureWidth),I.u_edgeFrameTexture&&F.uniform1i(I.u_edgeFrameTexture,M.edgeFrameTextureUnit),I.u_edgeFrameTextureWidth&&F.uniform1i(I.u_edgeFrameTextureWidth,M.edgeFrameTextureWidth),this.edgeAttributeTexture&&this.layout.floatsPerItem>0&&(this.edgeAttributeTexture.bind(dt),I.u_edgeAttributeTexture&&F.uniform1i(I.u_edgeAttributeTexture,dt),I.u_edgeAttributeTextureWidth&&F.uniform1i(I.u_edgeAttributeTextureWidth,this.edgeAttributeTexture.getTextureWidth()),I.u_edgeAttributeTexelsPerEdge&&F.uniform1i(I.u_edgeAttributeTexelsPerEdge,this.edgeAttributeTexture.getTexelsPerItem()));var z=new Set;c.forEach(function(X){X.uniforms.forEach(function(H){z.has(H.name)||(z.add(H.name),N.setTypedUniform(H,G))})}),v.forEach(function(X){X.uniforms.forEach(function(H){z.has(H.name)||(z.add(H.name),N.setTypedUniform(H,G))})}),f.forEach(function(X){X.uniforms.forEach(function(H){z.has(H.name)||(z.add(H.name),N.setTypedUniform(H,G))})})}},{key:"render",value:function(M,G,N){this.maybeRegenerateShaders(),ye(C,"render",this,3)([M,G,N])}},{key:"renderProgram",value:function(M,G){this.layerLifecycles.forEach(function(N){var F;return(F=N.beforeRender)===null||F===void 0?void 0:F.call(N)}),ye(C,"renderProgram",this,3)([M,G])}},{key:"uploadAttributeTexture",value:function(){this.edgeAttributeTexture&&this.layout.floatsPerItem>0&&this.edgeAttributeTexture.upload()}},{key:"kill",value:function(){this.layerLifecycles.forEach(function(M){var G;return(G=M.kill)===null||G===void 0?void 0:G.call(M)}),this.edgeAttributeTexture&&(this.edgeAttributeTexture.kill(),this.edgeAttributeTexture=null),ye(C,"kill",this,3)([])}}])})(St),S=v[g],A=v[m],E=W({paths:c,headLengthRatio:He(S.length)?0:S.length,tailLengthRatio:He(A.length)?0:A.length},t.label),D=cl(E),k=function(){return{labelProgram:Vf(a,null,e,E),labelBackgroundProgram:Nf(a,n,e,{shaderConfig:D})}},P=new Rf(a,{paths:c,extremities:v,layers:f,nodeShapes:i,nodeLayers:o});return{edgeProgram:new T(a,null,e),createLabelPrograms:k,framePass:P}}function jf(a){return te(a)==="object"&&"uniforms"in a&&Array.isArray(a.uniforms)}function qf(a){return te(a)==="object"&&"uniforms"in a&&"attributes"in a&&"glsl"in a}function Kf(a){return te(a)==="object"&&"uniforms"in a&&"attributes"in a&&"segments"in a}function Yf(a){return te(a)==="object"&&"uniforms"in a&&"attributes"in a&&"length"in a}function Zf(a){return te(a)==="object"&&"uniforms"in a&&"attributes"in a&&"glsl"in a}function Qf(a){return te(a)==="object"&&"glsl"in a&&"name"in a&&!("uniforms"in a)}function Jf(a){return te(a)==="object"&&"glsl"in a&&"name"in a&&!("uniforms"in a)}function eg(a){return te(a)==="object"&&"glsl"in a&&"name"in a&&!("uniforms"in a)}function tg(a){if(jf(a))return a;if(Qf(a))return{name:a.name,glsl:a.glsl,inradiusFactor:a.inradiusFactor,uniforms:[]};throw new Error("Invalid node shape specification: ".concat(JSON.stringify(a)))}function ng(a){if(qf(a))return a;if(gs(a))return{name:a.name,glsl:a.glsl,uniforms:[],attributes:[]};throw new Error("Invalid node layer specification: ".concat(JSON.stringify(a)))}function ag(a){if(Kf(a))return a;if(Jf(a))return{name:a.name,glsl:a.glsl,segments:a.segments,uniforms:[],attributes:[]};throw new Error("Invalid edge path specification: ".concat(JSON.stringify(a)))}function rg(a){if(Zf(a))return a;if(ps(a))return{name:a.name,glsl:a.glsl,uniforms:[],attributes:[]};throw new Error("Invalid edge layer specification: ".concat(JSON.stringify(a)))}function ig(a){if(Yf(a))return a;if(eg(a))return{name:a.name,glsl:a.glsl,length:a.length,widthFactor:a.widthFactor,margin:0,uniforms:[],attributes:[]};throw new Error("Invalid edge extremity specification: ".concat(JSON.stringify(a)))}function fl(a){var n,e,t=(n=a?.shapes)!==null&&n!==void 0?n:Sn.shapes,r=(e=a?.layers)!==null&&e!==void 0?e:Sn.layers,i=t.map(tg),o=r.map(ng);if(i.length===0)throw new Error("At least one node shape must be specified.");if(o.length===0)throw new Error("At least one node layer must be specified.");return{shapes:i,layers:o}}function og(a){var n,e,t,r=(n=a?.paths)!==null&&n!==void 0?n:Ot.paths,i=(e=a?.extremities)!==null&&e!==void 0?e:Ot.extremities,o=(t=a?.layers)!==null&&t!==void 0?t:Ot.layers,s=r.map(ag),l=i.map(ig).filter(function(c){return c!==null}),d=o.map(rg);if(s.length===0)throw new Error("At least one edge path must be specified.");if(d.length===0)throw new Error("At least one edge layer must be specified.");return{paths:s,extremities:l,layers:d}}function gl(a,n){var e={},t=O(a),r;try{for(t.s();!(r=t.n()).done;){var i=r.value;i.variables&&Object.assign(e,i.variables)}}catch(o){t.e(o)}finally{t.f()}return Object.assign(e,n||{}),e}function pl(a,n,e,t,r){var i=fl(t),o=i.shapes,s=i.layers,l=gl(o,t?.variables),d=rl(a,n,e,{shapes:o,layers:s,label:t?.label,backdrop:t?.backdrop,labelAttachments:t?.labelAttachments},r);return W(W({},d),{},{variables:l})}function ml(a,n,e,t,r,i){var o=og(t),s=o.paths,l=o.extremities,d=o.layers,c=fl(i),f=c.shapes,p=c.layers,h=gl(s,t?.variables),v=hl(a,n,e,{paths:s,extremities:l,layers:d,defaultHead:t?.defaultHead,defaultTail:t?.defaultTail,label:t?.label},r,f,p);return W(W({},v),{},{variables:h,paths:s})}var sg=2;function vl(a,n,e){var t=arguments.length>3&&arguments[3]!==void 0?arguments[3]:sg,r=n.canvas,i=r.width,o=r.height,s=e.x,l=e.y,d=e.rowHeight,c=e.maxRowWidth,f={},p=[],h=O(a),v;try{for(h.s();!(v=h.n()).done;){var y=v.value,b=y.width+t,g=y.height+t;if(b>i||g>o||s+b>i&&l+d+g>o){p.push(y);continue}s+b>i&&(c=Math.max(c,s),s=0,l+=d,d=g),y.draw(n,s,l),f[y.key]={x:s,y:l,width:y.width,height:y.height},s+=b,d=Math.max(d,g)}}catch(m){h.e(m)}finally{h.f()}return c=Math.max(c,s),{atlas:f,cursor:{x:s,y:l,rowHeight:d,maxRowWidth:c},remaining:p}}function Ce(a,n,e,t){var r=Object.defineProperty;try{r({},"",{})}catch{r=0}Ce=function(i,o,s,l){function d(c,f){Ce(i,c,function(p){return this._invoke(c,f,p)})}o?r?r(i,o,{value:s,enumerable:!l,configurable:!l,writable:!l}):i[o]=s:(d("next",0),d("throw",1),d("return",2))},Ce(a,n,e,t)}function Pe(){var a,n,e=typeof Symbol=="function"?Symbol:{},t=e.iterator||"@@iterator",r=e.toStringTag||"@@toStringTag";function i(h,v,y,b){var g=v&&v.prototype instanceof s?v:s,m=Object.create(g.prototype);return Ce(m,"_invoke",(function(_,x,T){var S,A,E,D=0,k=T||[],P=!1,R={p:0,n:0,v:a,a:C,f:C.bind(a,4),d:function(L,M){return S=L,A=0,E=a,R.n=M,o}};function C(L,M){for(A=L,E=M,n=0;!P&&D&&!G&&n<k.length;n++){var G,N=k[n],F=R.p,I=N[2];L>3?(G=I===M)&&(E=N[(A=N[4])?5:(A=3,3)],N[4]=N[5]=a):N[0]<=F&&((G=L<2&&F<N[1])?(A=0,R.v=M,R.n=N[1]):F<I&&(G=L<3||N[0]>M||M>I)&&(N[4]=L,N[5]=M,R.n=I,A=0))}if(G||L>1)return o;throw P=!0,M}return function(L,M,G){if(D>1)throw TypeError("Generator is already running");for(P&&M===1&&C(M,G),A=M,E=G;(n=A<2?a:E)||!P;){S||(A?A<3?(A>1&&(R.n=-1),C(A,E)):R.n=E:R.v=E);try{if(D=2,S){if(A||(L="next"),n=S[L]){if(!(n=n.call(S,E)))throw TypeError("iterator result is not an object");if(!n.done)return n;E=n.value,A<2&&(A=0)}else A===1&&(n=S.return)&&n.call(S),A<2&&(E=TypeError("The iterator does not provide a '"+L+"' method"),A=1);S=a}else if((n=(P=R.n<0)?E:_.call(x,R))!==o)break}catch(N){S=a,A=1,E=N}finally{D=1}}return{value:n,done:P}}})(h,y,b),!0),m}var o={};function s(){}function l(){}function d(){}n=Object.getPrototypeOf;var c=[][t]?n(n([][t]())):(Ce(n={},t,function(){return this}),n),f=d.prototype=s.prototype=Object.create(c);function p(h){return Object.setPrototypeOf?Object.setPrototypeOf(h,d):(h.__proto__=d,Ce(h,r,"GeneratorFunction")),h.prototype=Object.create(f),h}return l.prototype=d,Ce(f,"constructor",d),Ce(d,"constructor",l),l.displayName="GeneratorFunction",Ce(d,r,"GeneratorFunction"),Ce(f),Ce(f,r,"Generator"),Ce(f,t,function(){return this}),Ce(f,"toString",function(){return"[object Generator]"}),(Pe=function(){return{w:i,m:p}})()}function bl(a,n,e,t,r,i,o){try{var s=a[i](o),l=s.value}catch(d){return void e(d)}s.done?n(l):Promise.resolve(l).then(t,r)}function Kt(a){return function(){var n=this,e=arguments;return new Promise(function(t,r){var i=a.apply(n,e);function o(l){bl(i,t,r,o,s,"next",l)}function s(l){bl(i,t,r,o,s,"throw",l)}o(void 0)})}}var $a=new Map,yl=!1;function lg(a){return new Promise(function(n,e){var t=new FileReader;t.onload=function(){return n(t.result)},t.onerror=e,t.readAsDataURL(a)})}function dg(a){if(!$a.has(a)){var n=fetch(a).then(function(e){return e.blob()}).then(lg).catch(function(){return $a.delete(a),null});$a.set(a,n)}return $a.get(a)}function ug(a){return hi.apply(this,arguments)}function hi(){return hi=Kt(Pe().m(function a(n){var e,t,r;return Pe().w(function(i){for(;;)switch(i.n){case 0:return e=document.createElement("div"),e.innerHTML=n,t=Array.from(e.querySelectorAll("img[src]")),r=t.filter(function(o){return!o.getAttribute("src").startsWith("data:")}),i.n=1,Promise.all(r.map((function(){var o=Kt(Pe().m(function s(l){var d;return Pe().w(function(c){for(;;)switch(c.n){case 0:return c.n=1,dg(l.getAttribute("src"));case 1:d=c.v,d&&l.setAttribute("src",d);case 2:return c.a(2)}},s)}));return function(s){return o.apply(this,arguments)}})()));case 1:return i.a(2,e.innerHTML)}},a)})),hi.apply(this,arguments)}function _l(a){return fi.apply(this,arguments)}function fi(){return fi=Kt(Pe().m(function a(n){var e,t,r,i,o,s,l,d,c,f,p,h,v,y=arguments;return Pe().w(function(b){for(;;)switch(b.n){case 0:if(e=y.length>1&&y[1]!==void 0?y[1]:1,t=n instanceof SVGElement?new XMLSerializer().serializeToString(n):n,r=new DOMParser,i=r.parseFromString(t,"image/svg+xml"),o=i.querySelector("svg"),o){b.n=1;break}return b.a(2,null);case 1:if(s=parseFloat(o.getAttribute("width")||""),l=parseFloat(o.getAttribute("height")||""),(!(s>0)||!(l>0))&&(d=o.getAttribute("viewBox"),d&&(c=d.trim().split(/[\s,]+/),s=parseFloat(c[2]),l=parseFloat(c[3]))),!(!(s>0)||!(l>0))){b.n=2;break}return console.warn("Sigma: SVG label attachment has no parseable dimensions — skipped."),b.a(2,null);case 2:return f=Math.ceil(s*e),p=Math.ceil(l*e),h=new Blob([t],{type:"image/svg+xml"}),v=URL.createObjectURL(h),b.a(2,new Promise(function(g){var m=new Image;m.onload=function(){var _=document.createElement("canvas");_.width=f,_.height=p,_.getContext("2d").drawImage(m,0,0,f,p),URL.revokeObjectURL(v);try{_.getContext("2d").getImageData(0,0,1,1)}catch(x){if(x instanceof DOMException&&x.name==="SecurityError"){yl||(yl=!0,console.warn('Sigma: A label attachment was skipped because the rendered canvas is tainted. SVG with <foreignObject> (used by the "html" attachment type) is blocked in Chromium and Safari. Use type: "canvas" with Canvas 2D rendering instead.')),g(null);return}throw x}g(_)},m.onerror=function(){URL.revokeObjectURL(v),g(null)},m.src=v}))}},a)})),fi.apply(this,arguments)}function cg(a,n){var e=document.createElement("div");e.style.cssText="position:fixed;left:-99999px;top:0;visibility:hidden;width:max-content;height:max-content",e.innerHTML=(n?"<style>".concat(n,"</style>"):"")+a,document.body.appendChild(e);var t=e.getBoundingClientRect(),r=t.width,i=t.height;return document.body.removeChild(e),{width:Math.ceil(r),height:Math.ceil(i)}}function hg(a,n,e,t){return gi.apply(this,arguments)}function gi(){return gi=Kt(Pe().m(function a(n,e,t,r){var i,o,s,l,d,c,f,p,h=arguments;return Pe().w(function(v){for(;;)switch(v.n){case 0:return i=h.length>4&&h[4]!==void 0?h[4]:1,o=n instanceof HTMLElement?n.outerHTML:n,v.n=1,ug(o);case 1:return s=v.v,(t==null||r==null)&&(l=cg(s,e),t=t??l.width,r=r??l.height),d=Math.ceil(t*i),c=Math.ceil(r*i),f=e?"<style>".concat(e,"</style>"):"",p='<svg xmlns="http://www.w3.org/2000/svg" '+'width="'.concat(d,'" height="').concat(c,'" viewBox="0 0 ').concat(t," ").concat(r,'">')+'<foreignObject width="'.concat(t,'" height="').concat(r,'">')+'<body xmlns="http://www.w3.org/1999/xhtml" style="margin:0;padding:0">'.concat(f).concat(s,"</body>")+"</foreignObject></svg>",v.a(2,_l(p,1))}},a)})),gi.apply(this,arguments)}function fg(a){return pi.apply(this,arguments)}function pi(){return pi=Kt(Pe().m(function a(n){var e,t=arguments,r;return Pe().w(function(i){for(;;)switch(i.n){case 0:e=t.length>1&&t[1]!==void 0?t[1]:1,r=n.type,i.n=r==="canvas"?1:r==="svg"?2:r==="html"?3:4;break;case 1:return i.a(2,n.canvas);case 2:return i.a(2,_l(n.svg,e));case 3:return i.a(2,hg(n.html,n.css,n.width,n.height,e));case 4:return i.a(2)}},a)})),pi.apply(this,arguments)}var qt=2048,xl=(function(){function a(n,e,t){J(this,a),w(this,"cache",new Map),w(this,"pending",new Set),w(this,"atlas",{}),w(this,"glTexture",null),w(this,"dirty",!0),this.gl=n,this.renderers=e,this.scheduleRender=t,this.packCanvas=document.createElement("canvas"),this.packCanvas.width=qt,this.packCanvas.height=qt,this.packCtx=this.packCanvas.getContext("2d")}return ee(a,[{key:"renderAttachment",value:function(e,t,r){var i=this,o="".concat(e,":").concat(t);if(!(this.cache.has(o)||this.pending.has(o))){var s=this.renderers[t];if(s){var l=s(r);if(l){this.pending.add(o);var d=r.pixelRatio;Promise.resolve(l).then((function(){var c=Kt(Pe().m(function f(p){var h;return Pe().w(function(v){for(;;)switch(v.n){case 0:if(i.pending.has(o)){v.n=1;break}return v.a(2);case 1:if(i.pending.delete(o),p){v.n=2;break}return v.a(2);case 2:return v.n=3,fg(p,d);case 3:if(h=v.v,!(!h||h.width===0||h.height===0)){v.n=4;break}return v.a(2);case 4:i.cache.set(o,{image:h,width:h.width,height:h.height}),i.dirty=!0,i.scheduleRender();case 5:return v.a(2)}},f)}));return function(f){return c.apply(this,arguments)}})())}}}}},{key:"regenerateAtlas",value:function(){if(this.dirty){this.dirty=!1;var e=[];if(this.cache.forEach(function(d,c){e.push({key:c,width:d.width,height:d.height,draw:function(p,h,v){p.drawImage(d.image,h,v)}})}),e.length===0){this.atlas={},this.deleteGLTexture();return}var t={x:0,y:0,rowHeight:0,maxRowWidth:0};this.packCtx.clearRect(0,0,qt,qt);var r=vl(e,this.packCtx,t),i=r.atlas,o=r.remaining;this.atlas=i,o.length>0&&console.warn("Sigma: ".concat(o.length," label attachment(s) could not fit in the ").concat(qt,"x").concat(qt," atlas and will not be rendered.")),this.deleteGLTexture();var s=this.gl,l=s.createTexture();s.activeTexture(s.TEXTURE0+Cn),s.bindTexture(s.TEXTURE_2D,l),s.pixelStorei(s.UNPACK_PREMULTIPLY_ALPHA_WEBGL,!0),s.texImage2D(s.TEXTURE_2D,0,s.RGBA,s.RGBA,s.UNSIGNED_BYTE,this.packCanvas),s.pixelStorei(s.UNPACK_PREMULTIPLY_ALPHA_WEBGL,!1),s.texParameteri(s.TEXTURE_2D,s.TEXTURE_MIN_FILTER,s.LINEAR),s.texParameteri(s.TEXTURE_2D,s.TEXTURE_MAG_FILTER,s.LINEAR),s.texParameteri(s.TEXTURE_2D,s.TEXTURE_WRAP_S,s.CLAMP_TO_EDGE),s.texParameteri(s.TEXTURE_2D,s.TEXTURE_WRAP_T,s.CLAMP_TO_EDGE),this.glTexture=l}}},{key:"bindTexture",value:function(e){if(this.glTexture){var t=this.gl;t.activeTexture(t.TEXTURE0+e),t.bindTexture(t.TEXTURE_2D,this.glTexture)}}},{key:"getEntry",value:function(e,t){var r="".concat(e,":").concat(t);return this.atlas[r]||null}},{key:"invalidateNode",value:function(e){var t="".concat(e,":"),r=O(this.cache.keys()),i;try{for(r.s();!(i=r.n()).done;){var o=i.value;o.startsWith(t)&&(this.cache.delete(o),this.dirty=!0)}}catch(c){r.e(c)}finally{r.f()}var s=O(this.pending),l;try{for(s.s();!(l=s.n()).done;){var d=l.value;d.startsWith(t)&&this.pending.delete(d)}}catch(c){s.e(c)}finally{s.f()}}},{key:"restore",value:function(){this.glTexture=null,this.dirty=!0}},{key:"clear",value:function(){this.cache.clear(),this.pending.clear(),this.atlas={},this.dirty=!0,this.deleteGLTexture()}},{key:"kill",value:function(){this.clear(),this.packCanvas=null,this.packCtx=null,this.gl=null}},{key:"deleteGLTexture",value:function(){this.glTexture&&(this.gl.deleteTexture(this.glTexture),this.glTexture=null)}}])})(),mi=(function(){function a(n){J(this,a),w(this,"buckets",new Map),w(this,"keyDepth",new Map);var e=O(n),t;try{for(e.s();!(t=e.n()).done;){var r=t.value;this.buckets.set(r,new Set)}}catch(i){e.e(i)}finally{e.f()}}return ee(a,[{key:"has",value:function(e){return this.keyDepth.has(e)}},{key:"getBucket",value:function(e){return this.buckets.get(e)}},{key:"set",value:function(e,t){var r,i=this.keyDepth.get(e);if(i!==t){var o=this.buckets.get(t);if(!o)throw new Error('Sigma: "'.concat(t,'" is not a declared depth layer'));i!==void 0&&((r=this.buckets.get(i))===null||r===void 0||r.delete(e)),o.add(e),this.keyDepth.set(e,t)}}},{key:"remove",value:function(e){var t=this.keyDepth.get(e);t!==void 0&&(this.buckets.get(t).delete(e),this.keyDepth.delete(e))}},{key:"clearAll",value:function(){var e=O(this.buckets.values()),t;try{for(e.s();!(t=e.n()).done;){var r=t.value;r.clear()}}catch(i){e.e(i)}finally{e.f()}this.keyDepth.clear()}},{key:"getSorted",value:function(e,t){var r=this.buckets.get(e);return!r||r.size===0?[]:q(r).sort(function(i,o){return t(i)-t(o)})}}])})(),Tl=(function(a){function n(e,t){return J(this,n),he(this,n,[e,2,t])}return fe(n,a),ee(n,[{key:"updateNode",value:function(t,r,i,o,s,l,d,c){var f=this.indexMap.get(t);if(f===void 0)throw new Error('Node "'.concat(t,'" not allocated in NodeDataTexture'));var p=ot(c),h=ae(p,4),v=h[0],y=h[1],b=h[2],g=h[3],m=f*2*4;this.data[m]=r,this.data[m+1]=i,this.data[m+2]=o,this.data[m+3]=s,this.data[m+4]=l,this.data[m+5]=d,this.data[m+6]=v*65536+y*256+b,this.data[m+7]=g/255,this.markDirty(f)}}])})(Oa),gg=1024,pg=1.5,mg=4096,vi=(function(){function a(n,e){var t;if(J(this,a),w(this,"texture",null),w(this,"framebuffer",null),!n.getExtension("EXT_color_buffer_float"))throw new Error("sigma: EXT_color_buffer_float is required for label/edge placement but is unavailable in this WebGL2 context.");this.gl=n,this.channels=e.channels,this.capacity=this.roundUpToPowerOfTwo((t=e.initialCapacity)!==null&&t!==void 0?t:gg);var r=this.computeDimensions(this.capacity);this.textureWidth=r.width,this.textureHeight=r.height,this.create()}return ee(a,[{key:"roundUpToPowerOfTwo",value:function(e){return Math.pow(2,Math.ceil(Math.log2(Math.max(1,e))))}},{key:"computeDimensions",value:function(e){var t=Math.min(e,mg),r=Math.ceil(e/t);return{width:t,height:r}}},{key:"create",value:function(){var e=this.gl,t=this.channels===1?e.R32F:e.RGBA32F,r=this.channels===1?e.RED:e.RGBA;if(this.texture=e.createTexture(),e.activeTexture(e.TEXTURE0),e.bindTexture(e.TEXTURE_2D,this.texture),e.texImage2D(e.TEXTURE_2D,0,t,this.textureWidth,this.textureHeight,0,r,e.FLOAT,null),e.texParameteri(e.TEXTURE_2D,e.TEXTURE_MIN_FILTER,e.NEAREST),e.texParameteri(e.TEXTURE_2D,e.TEXTURE_MAG_FILTER,e.NEAREST),e.texParameteri(e.TEXTURE_2D,e.TEXTURE_WRAP_S,e.CLAMP_TO_EDGE),e.texParameteri(e.TEXTURE_2D,e.TEXTURE_WRAP_T,e.CLAMP_TO_EDGE),this.framebuffer=e.createFramebuffer(),e.bindFramebuffer(e.FRAMEBUFFER,this.framebuffer),e.framebufferTexture2D(e.FRAMEBUFFER,e.COLOR_ATTACHMENT0,e.TEXTURE_2D,this.texture,0),e.checkFramebufferStatus(e.FRAMEBUFFER)!==e.FRAMEBUFFER_COMPLETE)throw new Error("sigma: float framebuffer for frame-pass placement is incomplete.");e.bindFramebuffer(e.FRAMEBUFFER,null),e.bindTexture(e.TEXTURE_2D,null)}},{key:"ensureCapacity",value:function(e){if(!(e<=this.capacity)){var t=this.gl;this.capacity=this.roundUpToPowerOfTwo(Math.ceil(e*pg));var r=this.computeDimensions(this.capacity);this.textureWidth=r.width,this.textureHeight=r.height,this.texture&&t.deleteTexture(this.texture),this.framebuffer&&t.deleteFramebuffer(this.framebuffer),this.create()}}},{key:"bindAsRenderTarget",value:function(){var e=this.gl;e.bindFramebuffer(e.FRAMEBUFFER,this.framebuffer),e.viewport(0,0,this.textureWidth,this.textureHeight)}},{key:"bind",value:function(e){var t=this.gl;t.activeTexture(t.TEXTURE0+e),t.bindTexture(t.TEXTURE_2D,this.texture)}},{key:"getTexture",value:function(){return this.texture}},{key:"getTextureWidth",value:function(){return this.textureWidth}},{key:"getTextureHeight",value:function(){return this.textureHeight}},{key:"restore",value:function(){this.gl.getExtension("EXT_color_buffer_float"),this.create()}},{key:"kill",value:function(){var e=this.gl;this.texture&&(e.deleteTexture(this.texture),this.texture=null),this.framebuffer&&(e.deleteFramebuffer(this.framebuffer),this.framebuffer=null)}}])})(),Sl=(function(a){function n(e,t){return J(this,n),he(this,n,[e,2,t])}return fe(n,a),ee(n,[{key:"updateEdge",value:function(t,r,i,o,s,l){var d=arguments.length>6&&arguments[6]!==void 0?arguments[6]:0,c=arguments.length>7&&arguments[7]!==void 0?arguments[7]:0,f=arguments.length>8&&arguments[8]!==void 0?arguments[8]:0,p=this.indexMap.get(t);if(p===void 0)throw new Error('Edge "'.concat(t,'" not allocated in EdgeDataTexture'));var h=p*this.TEXELS_PER_ITEM*4;this.data[h+0]=r,this.data[h+1]=i,this.data[h+2]=o,this.data[h+3]=0,this.data[h+4]=s,this.data[h+5]=l,this.data[h+6]=d,this.data[h+7]=(c&15)<<4|f&15,this.markDirty(p)}}])})(Oa);var Fv=gt(Ct()),Iv=gt(Yr());function vg(a,n){if(a==null)return{};var e={};for(var t in a)if({}.hasOwnProperty.call(a,t)){if(n.indexOf(t)!==-1)continue;e[t]=a[t]}return e}function El(a,n){if(a==null)return{};var e,t,r=vg(a,n);if(Object.getOwnPropertySymbols){var i=Object.getOwnPropertySymbols(a);for(t=0;t<i.length;t++)e=i[t],n.indexOf(e)===-1&&{}.propertyIsEnumerable.call(a,e)&&(r[e]=a[e])}return r}var bg=["factor"],yg=["factor"],wl=1.5,bi={x:.5,y:.5,angle:0,ratio:1},Al=(function(a){function n(){var e;J(this,n);for(var t=arguments.length,r=new Array(t),i=0;i<t;i++)r[i]=arguments[i];return e=he(this,n,[].concat(r)),w(e,"minRatio",null),w(e,"maxRatio",null),w(e,"enabled",!0),w(e,"enabledZooming",!0),w(e,"enabledPanning",!0),w(e,"enabledRotation",!0),w(e,"constrainState",null),w(e,"state",W({},bi)),w(e,"previousState",W({},bi)),w(e,"nextFrame",null),w(e,"currentAnimationFrom",null),w(e,"currentAnimationTo",null),w(e,"animationCallback",null),e}return fe(n,a),ee(n,[{key:"x",get:function(){return this.state.x}},{key:"y",get:function(){return this.state.y}},{key:"angle",get:function(){return this.state.angle}},{key:"ratio",get:function(){return this.state.ratio}},{key:"getState",value:function(){return W({},this.state)}},{key:"getPreviousState",value:function(){return W({},this.previousState)}},{key:"getBoundedRatio",value:function(t){var r=t;return typeof this.minRatio=="number"&&(r=Math.max(r,this.minRatio)),typeof this.maxRatio=="number"&&(r=Math.min(r,this.maxRatio)),r}},{key:"validateState",value:function(t){var r=this.getState();return this.enabledPanning&&typeof t.x=="number"&&(r.x=t.x),this.enabledPanning&&typeof t.y=="number"&&(r.y=t.y),this.enabledZooming&&typeof t.ratio=="number"&&(r.ratio=this.getBoundedRatio(t.ratio)),this.enabledRotation&&typeof t.angle=="number"&&(r.angle=t.angle),this.constrainState?this.constrainState(r):r}},{key:"isAnimating",value:function(){return this.nextFrame!==null}},{key:"setState",value:function(t){if(!this.enabled)return this;var r=this.validateState(t);return Ls(this.state,r)?this:(this.previousState=this.state,this.state=r,this.emit("updated",this.getState()),this)}},{key:"updateState",value:function(t){return this.setState(t(this.getState())),this}},{key:"animate",value:function(t,r){var i=this;return this.enabled?new Promise(function(o){return i.runAnimation(t,W(W({},Fs),r),o)}):Promise.resolve()}},{key:"cancelAnimation",value:function(){return this.nextFrame!==null&&(cancelAnimationFrame(this.nextFrame),this.nextFrame=null),this.resolveAnimation(),this.emitAnimationEnd(!1),this}},{key:"zoomIn",value:function(){var t=arguments.length>0&&arguments[0]!==void 0?arguments[0]:{},r=t.factor,i=r===void 0?wl:r,o=El(t,bg);return this.animate({ratio:this.ratio/i},o)}},{key:"zoomOut",value:function(){var t=arguments.length>0&&arguments[0]!==void 0?arguments[0]:{},r=t.factor,i=r===void 0?wl:r,o=El(t,yg);return this.animate({ratio:this.ratio*i},o)}},{key:"reset",value:function(t){return this.animate(bi,t)}},{key:"runAnimation",value:function(t,r,i){var o=this,s=Ta(r.easing),l=Date.now(),d=this.getState(),c=this.validateState(t),f=function(){if(!o.enabled){o.cancelAnimation();return}var h=r.duration>0?(Date.now()-l)/r.duration:1;if(h>=1){o.nextFrame=null,o.setState(c),o.resolveAnimation(),o.emitAnimationEnd(!0);return}var v=s(h);o.setState({x:d.x+(c.x-d.x)*v,y:d.y+(c.y-d.y)*v,angle:d.angle+(c.angle-d.angle)*v,ratio:d.ratio+(c.ratio-d.ratio)*v}),o.nextFrame=requestAnimationFrame(f)};this.cancelAnimation(),this.currentAnimationFrom=d,this.currentAnimationTo=c,this.animationCallback=i,this.emit("animationStart",{from:d,to:c}),f()}},{key:"resolveAnimation",value:function(){var t=this.animationCallback;this.animationCallback=null,t&&t()}},{key:"emitAnimationEnd",value:function(t){var r=this.currentAnimationFrom,i=this.currentAnimationTo;!r||!i||(this.currentAnimationFrom=null,this.currentAnimationTo=null,this.emit("animationEnd",{from:r,to:i,completed:t}))}}],[{key:"from",value:function(t){var r=new n;return r.setState(t)}}])})(Aa);function Fe(a,n){var e=n.getBoundingClientRect();return{x:a.clientX-e.left,y:a.clientY-e.top}}function Ke(a,n){var e=W(W({},Fe(a,n)),{},{sigmaDefaultPrevented:!1,preventSigmaDefault:function(){e.sigmaDefaultPrevented=!0},original:a});return e}function Et(a){var n="x"in a?a:W(W({},a.touches[0]||a.previousTouches[0]),{},{original:a.original,sigmaDefaultPrevented:a.sigmaDefaultPrevented,preventSigmaDefault:function(){a.sigmaDefaultPrevented=!0,n.sigmaDefaultPrevented=!0}});return n}function _g(a,n){var e=Ke(a,n);return e.delta=Bl(a),e}var xg=2;function Xa(a){for(var n=[],e=0,t=Math.min(a.length,xg);e<t;e++)n.push(a[e]);return n}function Fn(a,n,e){var t={touches:Xa(a.touches).map(function(r){return Fe(r,e)}),previousTouches:n.map(function(r){return Fe(r,e)}),sigmaDefaultPrevented:!1,preventSigmaDefault:function(){t.sigmaDefaultPrevented=!0},original:a};return t}function Bl(a){if(typeof a.deltaY<"u")return a.deltaY*-3/360;if(typeof a.detail<"u")return a.detail/-9;throw new Error("Captor: could not extract delta from event.")}var Ul=(function(a){function n(e,t){var r;return J(this,n),r=he(this,n),r.container=e,r.renderer=t,r}return fe(n,a),ee(n)})(Aa),Tg=["doubleClickTimeout","doubleClickZoomingDuration","doubleClickZoomingRatio","dragTimeout","draggedEventsTolerance","enableCameraMouseRotation","gestureTarget","inertiaDuration","inertiaRatio","zoomDuration","zoomingRatio"],Sg=Tg.reduce(function(a,n){return W(W({},a),{},w({},n,Da[n]))},{});function In(a){return a instanceof PointerEvent&&a.pointerType==="touch"}var Eg=(function(a){function n(e,t){var r;return J(this,n),r=he(this,n,[e,t]),w(r,"enabled",!0),w(r,"draggedEvents",0),w(r,"downStartTime",null),w(r,"lastMouseX",null),w(r,"lastMouseY",null),w(r,"isMouseDown",!1),w(r,"isMoving",!1),w(r,"isPanningStage",!1),w(r,"movingTimeout",null),w(r,"startCameraState",null),w(r,"clicks",0),w(r,"doubleClickTimeout",null),w(r,"isRightMouseDown",!1),w(r,"startRotationAngle",null),w(r,"startCameraAngle",null),w(r,"currentWheelDirection",0),w(r,"lastWheelAnimationId",0),w(r,"settings",Sg),r.handleRightClick=r.handleRightClick.bind(r),r.handleDown=r.handleDown.bind(r),r.handleUp=r.handleUp.bind(r),r.handleMove=r.handleMove.bind(r),r.handleWheel=r.handleWheel.bind(r),r.handleLeave=r.handleLeave.bind(r),r.handleEnter=r.handleEnter.bind(r),e.addEventListener("contextmenu",r.handleRightClick,{capture:!1}),e.addEventListener("pointerdown",r.handleDown,{capture:!1}),e.addEventListener("wheel",r.handleWheel,{capture:!1,passive:!1}),e.addEventListener("pointerleave",r.handleLeave,{capture:!1}),e.addEventListener("pointerenter",r.handleEnter,{capture:!1}),document.addEventListener("pointermove",r.handleMove,{capture:!1}),document.addEventListener("pointerup",r.handleUp,{capture:!1}),r}return fe(n,a),ee(n,[{key:"kill",value:function(){var t=this.container;t.removeEventListener("contextmenu",this.handleRightClick),t.removeEventListener("pointerdown",this.handleDown),t.removeEventListener("wheel",this.handleWheel),t.removeEventListener("pointerleave",this.handleLeave),t.removeEventListener("pointerenter",this.handleEnter),document.removeEventListener("pointermove",this.handleMove),document.removeEventListener("pointerup",this.handleUp)}},{key:"handleClick",value:function(t){var r=this;if(this.enabled){if(this.clicks++,this.clicks===2)return this.clicks=0,typeof this.doubleClickTimeout=="number"&&(clearTimeout(this.doubleClickTimeout),this.doubleClickTimeout=null),this.handleDoubleClick(t);setTimeout(function(){r.clicks=0,r.doubleClickTimeout=null},this.settings.doubleClickTimeout),this.draggedEvents<this.settings.draggedEventsTolerance&&this.emit("click",Ke(t,this.container))}}},{key:"handleRightClick",value:function(t){this.enabled&&(this.settings.enableCameraMouseRotation&&t.preventDefault(),this.emit("rightClick",Ke(t,this.container)))}},{key:"handleDoubleClick",value:function(t){if(this.enabled){t.preventDefault(),t.stopPropagation();var r=Ke(t,this.container);if(this.emit("doubleClick",r),!r.sigmaDefaultPrevented){var i=this.renderer.getCamera(),o=i.getBoundedRatio(i.getState().ratio/this.settings.doubleClickZoomingRatio);i.animate(this.renderer.getViewportZoomedState(Fe(t,this.container),o),{easing:"quadraticInOut",duration:this.settings.doubleClickZoomingDuration})}}}},{key:"handleDown",value:function(t){if(!(!this.enabled||In(t))){if(t.button===0){this.startCameraState=this.renderer.getCamera().getState();var r=Fe(t,this.container),i=r.x,o=r.y;this.lastMouseX=i,this.lastMouseY=o,this.draggedEvents=0,this.downStartTime=Date.now(),this.isMouseDown=!0}if(t.button===2&&this.settings.enableCameraMouseRotation){var s=Fe(t,this.container),l=s.x,d=s.y,c=this.container.offsetWidth/2,f=this.container.offsetHeight/2;this.startRotationAngle=Math.atan2(d-f,l-c),this.startCameraAngle=this.renderer.getCamera().getState().angle,this.isRightMouseDown=!0}this.emit("mousedown",Ke(t,this.container))}}},{key:"handleUp",value:function(t){var r=this;if(!(!this.enabled||In(t)||!this.isMouseDown&&!this.isRightMouseDown)){if(this.isRightMouseDown){this.isRightMouseDown=!1,this.startRotationAngle=null,this.startCameraAngle=null,this.emit("mouseup",Ke(t,this.container));return}var i=this.renderer.getCamera();this.isMouseDown=!1,this.isPanningStage&&(this.isPanningStage=!1,this.renderer._setPanning(!1)),typeof this.movingTimeout=="number"&&(clearTimeout(this.movingTimeout),this.movingTimeout=null);var o=Fe(t,this.container),s=o.x,l=o.y,d=i.getState(),c=i.getPreviousState();this.isMoving?i.animate({x:d.x+this.settings.inertiaRatio*(d.x-c.x),y:d.y+this.settings.inertiaRatio*(d.y-c.y)},{duration:this.settings.inertiaDuration,easing:"quadraticOut"}):(this.lastMouseX!==s||this.lastMouseY!==l)&&i.setState({x:d.x,y:d.y}),this.isMoving=!1,setTimeout(function(){var f=r.draggedEvents>0;r.draggedEvents=0;var p=r.renderer.getSetting("hideEdgesOnMove")||r.renderer.getSetting("hideLabelsOnMove");f&&p&&r.renderer.refresh()},0),this.emit("mouseup",Ke(t,this.container)),(t.target===this.container||t.composedPath()[0]===this.container)&&this.handleClick(t)}}},{key:"handleMove",value:function(t){var r=this;if(!(!this.enabled||In(t))){var i=Ke(t,this.container);if(this.emit("mousemovebody",i),(t.target===this.container||t.composedPath()[0]===this.container)&&this.emit("mousemove",i),this.isMouseDown&&this.draggedEvents++,!i.sigmaDefaultPrevented){if(this.isMouseDown){this.isMoving=!0,typeof this.movingTimeout=="number"&&clearTimeout(this.movingTimeout),this.movingTimeout=window.setTimeout(function(){r.movingTimeout=null,r.isMoving=!1},this.settings.dragTimeout);var o=this.renderer.getCamera(),s=Fe(t,this.container),l=s.x,d=s.y,c=this.renderer.viewportToFramedGraph({x:this.lastMouseX,y:this.lastMouseY}),f=this.renderer.viewportToFramedGraph({x:l,y:d}),p=c.x-f.x,h=c.y-f.y,v=o.getState(),y=v.x+p,b=v.y+h;this.isPanningStage||(this.isPanningStage=!0,this.renderer._setPanning(!0)),o.setState({x:y,y:b}),this.lastMouseX=l,this.lastMouseY=d,t.preventDefault(),t.stopPropagation()}if(this.isRightMouseDown){var g=Fe(t,this.container),m=g.x,_=g.y,x=this.container.offsetWidth/2,T=this.container.offsetHeight/2,S=Math.atan2(_-T,m-x),A=S-this.startRotationAngle,E=this.renderer.getCamera();E.setState({angle:this.startCameraAngle+A}),t.preventDefault(),t.stopPropagation()}}}}},{key:"handleLeave",value:function(t){In(t)||this.emit("mouseleave",Ke(t,this.container))}},{key:"handleEnter",value:function(t){In(t)||this.emit("mouseenter",Ke(t,this.container))}},{key:"handleWheel",value:function(t){var r=this,i=this.renderer.getCamera();if(!(!this.enabled||!i.enabledZooming)){var o=_g(t,this.container);if(this.emit("wheel",o),!o.sigmaDefaultPrevented){var s=this.settings.gestureTarget;if(s!=="page"){if(s==="shared"&&!t.ctrlKey&&!t.metaKey){this.renderer._showGestureHint("wheel");return}var l=Bl(t);if(l){t.preventDefault(),t.stopPropagation();var d=i.getState().ratio,c=l>0?1/this.settings.zoomingRatio:this.settings.zoomingRatio,f=i.getBoundedRatio(d*c),p=l>0?1:-1,h=Date.now();if(d!==f&&!(this.currentWheelDirection===p&&this.lastWheelTriggerTime&&h-this.lastWheelTriggerTime<this.settings.zoomDuration/5)){var v=++this.lastWheelAnimationId;i.animate(this.renderer.getViewportZoomedState(Fe(t,this.container),f),{easing:"quadraticOut",duration:this.settings.zoomDuration}).then(function(){r.lastWheelAnimationId===v&&(r.currentWheelDirection=0)}),this.currentWheelDirection=p,this.lastWheelTriggerTime=h}}}}}}},{key:"setSettings",value:function(t){this.settings=t}}])})(Ul),wg=["dragTimeout","gestureTarget","inertiaDuration","inertiaRatio","doubleClickTimeout","doubleClickZoomingRatio","doubleClickZoomingDuration","tapMoveTolerance"],Ag=wg.reduce(function(a,n){return W(W({},a),{},w({},n,Da[n]))},{}),Rg=(function(a){function n(e,t){var r;return J(this,n),r=he(this,n,[e,t]),w(r,"enabled",!0),w(r,"isMoving",!1),w(r,"hasMoved",!1),w(r,"isPanningStage",!1),w(r,"isZoomingStage",!1),w(r,"touchMode",0),w(r,"startTouchesPositions",[]),w(r,"lastTouches",[]),w(r,"lastTap",null),w(r,"settings",Ag),r.handleStart=r.handleStart.bind(r),r.handleLeave=r.handleLeave.bind(r),r.handleMove=r.handleMove.bind(r),e.addEventListener("touchstart",r.handleStart,{capture:!1}),e.addEventListener("touchcancel",r.handleLeave,{capture:!1}),document.addEventListener("touchend",r.handleLeave,{capture:!1,passive:!1}),document.addEventListener("touchmove",r.handleMove,{capture:!1,passive:!1}),r}return fe(n,a),ee(n,[{key:"kill",value:function(){var t=this.container;t.removeEventListener("touchstart",this.handleStart),t.removeEventListener("touchcancel",this.handleLeave),document.removeEventListener("touchend",this.handleLeave),document.removeEventListener("touchmove",this.handleMove)}},{key:"getDimensions",value:function(){return{width:this.container.offsetWidth,height:this.container.offsetHeight}}},{key:"doesCapture",value:function(t){var r=this.settings.gestureTarget;return r==="graph"?!0:r==="page"?!1:t>=2}},{key:"syncStageFlags",value:function(){var t=this.touchMode===1&&this.hasMoved,r=this.touchMode===2;t!==this.isPanningStage&&(this.isPanningStage=t,this.renderer._setPanning(t)),r!==this.isZoomingStage&&(this.isZoomingStage=r,this.renderer._setZooming(r))}},{key:"handleStart",value:function(t){var r=this;if(this.enabled){var i=Xa(t.touches);if(this.touchMode=i.length,this.startCameraState=this.renderer.getCamera().getState(),this.startTouchesPositions=i.map(function(h){return Fe(h,r.container)}),this.touchMode===2){var o=ae(this.startTouchesPositions,2),s=o[0],l=s.x,d=s.y,c=o[1],f=c.x,p=c.y;this.startTouchesAngle=Math.atan2(p-d,f-l),this.startTouchesDistance=Math.sqrt(Math.pow(f-l,2)+Math.pow(p-d,2))}this.syncStageFlags(),this.emit("touchdown",Fn(t,this.lastTouches,this.container)),this.lastTouches=i,this.lastTouchesPositions=this.startTouchesPositions,t.cancelable&&(this.doesCapture(t.touches.length)||this.renderer._hasNodeDrag())&&t.preventDefault()}}},{key:"handleLeave",value:function(t){if(!(!this.enabled||!this.startTouchesPositions.length)){switch(t.cancelable&&this.doesCapture(this.touchMode)&&t.preventDefault(),this.movingTimeout&&(this.isMoving=!1,clearTimeout(this.movingTimeout)),this.touchMode){case 2:if(t.touches.length===1){this.handleStart(t);break}case 1:if(this.isMoving){var r=this.renderer.getCamera(),i=r.getState(),o=r.getPreviousState();r.animate({x:i.x+this.settings.inertiaRatio*(i.x-o.x),y:i.y+this.settings.inertiaRatio*(i.y-o.y)},{duration:this.settings.inertiaDuration,easing:"quadraticOut"})}this.hasMoved=!1,this.isMoving=!1,this.touchMode=0;break}if(this.syncStageFlags(),this.emit("touchup",Fn(t,this.lastTouches,this.container)),!t.touches.length){var s=Fe(this.lastTouches[0],this.container),l=this.startTouchesPositions[0],d=Math.pow(s.x-l.x,2)+Math.pow(s.y-l.y,2);if(!t.touches.length&&d<Math.pow(this.settings.tapMoveTolerance,2))if(this.lastTap&&Date.now()-this.lastTap.time<this.settings.doubleClickTimeout){var c=Fn(t,this.lastTouches,this.container);if(this.emit("doubletap",c),this.lastTap=null,!c.sigmaDefaultPrevented&&this.settings.gestureTarget!=="page"){var f=this.renderer.getCamera(),p=f.getBoundedRatio(f.getState().ratio/this.settings.doubleClickZoomingRatio);f.animate(this.renderer.getViewportZoomedState(s,p),{easing:"quadraticInOut",duration:this.settings.doubleClickZoomingDuration})}}else{var h=Fn(t,this.lastTouches,this.container);this.emit("tap",h),this.lastTap={time:Date.now(),position:h.touches[0]||h.previousTouches[0]}}}this.lastTouches=Xa(t.touches),this.startTouchesPositions=[]}}},{key:"handleMove",value:function(t){var r=this;if(!(!this.enabled||!this.startTouchesPositions.length)){var i=this.doesCapture(t.touches.length);i&&t.preventDefault();var o=Xa(t.touches),s=o.map(function(H){return Fe(H,r.container)}),l=this.lastTouches;this.lastTouches=o,this.lastTouchesPositions=s;var d=Fn(t,l,this.container);if(this.emit("touchmove",d),!d.sigmaDefaultPrevented&&(this.hasMoved||(this.hasMoved=s.some(function(H,Q){var K=r.startTouchesPositions[Q];return K&&(H.x!==K.x||H.y!==K.y)})),!!this.hasMoved)){if(!i){this.settings.gestureTarget==="shared"&&this.renderer._showGestureHint("touch");return}this.isMoving=!0,this.syncStageFlags(),this.movingTimeout&&clearTimeout(this.movingTimeout),this.movingTimeout=window.setTimeout(function(){r.isMoving=!1},this.settings.dragTimeout);var c=this.renderer.getCamera(),f=this.startCameraState,p=this.renderer.getSetting("stagePadding");switch(this.touchMode){case 1:{var h=this.renderer.viewportToFramedGraph((this.startTouchesPositions||[])[0]),v=h.x,y=h.y,b=this.renderer.viewportToFramedGraph(s[0]),g=b.x,m=b.y;c.setState({x:f.x+v-g,y:f.y+y-m});break}case 2:{var _={x:.5,y:.5,angle:0,ratio:1},x=s[0],T=x.x,S=x.y,A=s[1],E=A.x,D=A.y,k=Math.atan2(D-S,E-T)-this.startTouchesAngle,P=Math.hypot(D-S,E-T)/this.startTouchesDistance,R=c.getBoundedRatio(f.ratio/P);_.ratio=R,_.angle=f.angle+k;var C=this.getDimensions(),L=this.renderer.viewportToFramedGraph((this.startTouchesPositions||[])[0],{cameraState:f}),M=Math.min(C.width,C.height)-2*p,G=M/C.width,N=M/C.height,F=R/M,I=T-M/2/G,z=S-M/2/N,X=Fr({x:I,y:z},_.angle);I=X.x,z=X.y,_.x=L.x-I*F,_.y=L.y+z*F,c.setState(_);break}}}}}},{key:"setSettings",value:function(t){this.settings=t}}])})(Ul),kg=(function(){function a(n,e,t,r){J(this,a),w(this,"pendingNode",null),w(this,"session",null),this.graph=n,this.viewportToGraph=e,this.setNodesState=t,this.emit=r}return ee(a,[{key:"start",value:function(e,t,r,i,o){var s=r(e),l=!1;if(this.emit("nodeDragStart",{node:e,allDraggedNodes:s,event:t,preventSigmaDefault:function(){l=!0}}),l)return!1;var d=new Map,c=O(s),f;try{for(c.s();!(f=c.n()).done;){var p=f.value;d.set(p,{x:this.graph.getNodeAttribute(p,i),y:this.graph.getNodeAttribute(p,o)})}}catch(h){c.e(h)}finally{c.f()}return this.session={node:e,allNodes:s,startPosition:this.viewportToGraph(t),startNodePositions:d,xAttr:i,yAttr:o},this.setNodesState(s,{isDragged:!0}),!0}},{key:"applyMove",value:function(e,t){var r=this.session,i=r.allNodes,o=r.startNodePositions,s=r.startPosition,l=r.xAttr,d=r.yAttr,c=this.viewportToGraph(e),f={x:c.x-s.x,y:c.y-s.y},p=O(i),h;try{for(p.s();!(h=p.n()).done;){var v=h.value,y=o.get(v);if(!(!y||!this.graph.hasNode(v))){var b={x:y.x+f.x,y:y.y+f.y};t?this.graph.mergeNodeAttributes(v,t(b,v)):(this.graph.setNodeAttribute(v,l,b.x),this.graph.setNodeAttribute(v,d,b.y))}}}catch(g){p.e(g)}finally{p.f()}}},{key:"end",value:function(){if(this.pendingNode=null,!this.session)return null;var e=this.session,t=e.node,r=e.allNodes;return this.setNodesState(r,{isDragged:!1}),this.session=null,{node:t,allNodes:r}}},{key:"removeNode",value:function(e){e===this.pendingNode&&(this.pendingNode=null),this.session&&(this.session.node===e?(this.setNodesState(this.session.allNodes,{isDragged:!1}),this.session=null):this.session.allNodes.includes(e)&&(this.session.allNodes=this.session.allNodes.filter(function(t){return t!==e}),this.session.startNodePositions.delete(e)))}},{key:"clear",value:function(){this.pendingNode=null,this.session=null}}])})();function Rl(a,n){return a<n?"".concat(a,"\0").concat(n):"".concat(n,"\0").concat(a)}var Dg=(function(){function a(n,e){J(this,a),w(this,"groups",new Map),w(this,"edgeToGroupKey",new Map),this.graph=n,this.onGroupChanged=e}return ee(a,[{key:"getGroupKey",value:function(e){return Rl(this.graph.source(e),this.graph.target(e))}},{key:"sortGroup",value:function(e,t){var r=this,i=t.split("\0")[0];e.sort(function(o,s){var l=r.graph.source(o)===i||!r.graph.isDirected(o)?0:1,d=r.graph.source(s)===i||!r.graph.isDirected(s)?0:1;return l-d})}},{key:"register",value:function(e){var t=this.getGroupKey(e),r=this.groups.get(t);r||(r=[],this.groups.set(t,r)),r.includes(e)||r.push(e),this.edgeToGroupKey.set(e,t),r.length>1&&this.sortGroup(r,t),this.onGroupChanged(r,r.length)}},{key:"unregister",value:function(e){var t=this.edgeToGroupKey.get(e);if(t){this.edgeToGroupKey.delete(e);var r=this.groups.get(t);if(r){var i=r.indexOf(e);i!==-1&&r.splice(i,1),r.length===0?this.groups.delete(t):this.onGroupChanged(r,r.length)}}}},{key:"getGroup",value:function(e){var t,r=this.edgeToGroupKey.get(e);return r?(t=this.groups.get(r))!==null&&t!==void 0?t:[]:[]}},{key:"getSiblings",value:function(e){return this.getGroup(e).filter(function(t){return t!==e})}},{key:"rebuild",value:function(){var e=this;this.groups.clear(),this.edgeToGroupKey.clear(),this.graph.forEachEdge(function(l,d,c,f){var p=Rl(c,f),h=e.groups.get(p);h||(h=[],e.groups.set(p,h)),h.push(l),e.edgeToGroupKey.set(l,p)});var t=O(this.groups),r;try{for(t.s();!(r=t.n()).done;){var i=ae(r.value,2),o=i[0],s=i[1];s.length>1&&this.sortGroup(s,o),this.onGroupChanged(s,s.length)}}catch(l){t.e(l)}finally{t.f()}}},{key:"clear",value:function(){this.groups.clear(),this.edgeToGroupKey.clear()}}])})();function kl(a,n){var e;if(a===!1||a==="extend"||a==="separate")return a;var t=a[n];return t!==void 0?t:(e=a.default)!==null&&e!==void 0?e:!1}function Dl(a){return a===!1?!1:a==="extend"||a==="separate"?!0:Object.values(a).some(function(n){return n==="extend"||n==="separate"})}function Ll(a){return a==="separate"?!0:a===!1||a==="extend"?!1:a.default==="separate"?!0:Object.values(a).includes("separate")}var Ae={node:{parent:null,eventSuffix:"Node",payloadKey:"node",isEnabled:function(){return!0},writesPickingThisFrame:function(){return!0},setHover:function(n,e,t){return n.setNodeState(e,{isHovered:t})},getCursor:function(n,e){var t;return(t=n.nodeDataCache[e])===null||t===void 0?void 0:t.cursor},isHitValid:function(n,e){var t;return((t=n.nodeDataCache[e])===null||t===void 0?void 0:t.visibility)!=="hidden"}},edge:{parent:null,eventSuffix:"Edge",payloadKey:"edge",isEnabled:function(n){return!!n.settings.enableEdgeEvents},writesPickingThisFrame:function(n){return!!n.settings.enableEdgeEvents},setHover:function(n,e,t){return n.setEdgeState(e,{isHovered:t})},getCursor:function(n,e){var t;return(t=n.edgeDataCache[e])===null||t===void 0?void 0:t.cursor}},nodeLabel:{parent:"node",eventSuffix:"NodeLabel",payloadKey:"node",isEnabled:function(n){return Ll(n.settings.nodeLabelEvents)},writesPickingThisFrame:function(n){return Dl(n.settings.nodeLabelEvents)},setHover:function(n,e,t){return n.setNodeState(e,{isLabelHovered:t})},getCursor:function(n,e){var t;return(t=n.nodeDataCache[e])===null||t===void 0?void 0:t.labelCursor},resolveForVerb:function(n,e,t){var r=kl(t.settings.nodeLabelEvents,e);return r===!1?null:r==="extend"?{kind:"node",key:n.key}:n}},edgeLabel:{parent:"edge",eventSuffix:"EdgeLabel",payloadKey:"edge",isEnabled:function(n){return Ll(n.settings.edgeLabelEvents)},writesPickingThisFrame:function(n){return Dl(n.settings.edgeLabelEvents)},setHover:function(n,e,t){return n.setEdgeState(e,{isLabelHovered:t})},getCursor:function(n,e){var t;return(t=n.edgeDataCache[e])===null||t===void 0?void 0:t.labelCursor},resolveForVerb:function(n,e,t){var r=kl(t.settings.edgeLabelEvents,e);return r===!1?null:r==="extend"?{kind:"edge",key:n.key}:n}}},Rt=["node","edge","nodeLabel","edgeLabel"];function Lg(){return{lookup:[null],idsByKind:{node:new Map,edge:new Map,nodeLabel:new Map,edgeLabel:new Map},nextId:1}}function At(a,n,e){var t;return(t=a.idsByKind[n].get(e))!==null&&t!==void 0?t:0}function yi(a,n){var e=O(Rt),t;try{for(e.s();!(t=e.n()).done;){var r=t.value;if(r===n||Ae[r].parent===n){var i=O(a.idsByKind[r].values()),o;try{for(i.s();!(o=i.n()).done;){var s=o.value;a.lookup[s]=null}}catch(p){i.e(p)}finally{i.f()}a.idsByKind[r]=new Map}}}catch(p){e.e(p)}finally{e.f()}var l=1,d=O(Rt),c;try{for(d.s();!(c=d.n()).done;){var f=c.value;if(f===n)break;l+=a.idsByKind[f].size}}catch(p){d.e(p)}finally{d.f()}a.nextId=l}function Cl(a,n,e){var t=a.nextId++;return a.idsByKind[n].set(e,t),a.lookup[t]={kind:n,key:e},t}function Cg(a,n){var e=O(Rt),t;try{for(e.s();!(t=e.n()).done;){var r=t.value;if(Ae[r].parent!==null){var i=O(a.idsByKind[r].values()),o;try{for(i.s();!(o=i.n()).done;){var s=o.value;a.lookup[s]=null}}catch(T){i.e(T)}finally{i.f()}a.idsByKind[r]=new Map}}}catch(T){e.e(T)}finally{e.f()}a.nextId=1;var l=O(Rt),d;try{for(l.s();!(d=l.n()).done;){var c=d.value;if(Ae[c].parent===null){var f=O(a.idsByKind[c].values()),p;try{for(f.s();!(p=f.n()).done;){var h=p.value;h>=a.nextId&&(a.nextId=h+1)}}catch(T){f.e(T)}finally{f.f()}}}}catch(T){l.e(T)}finally{l.f()}var v=O(Rt),y;try{for(v.s();!(y=v.n()).done;){var b=y.value,g=Ae[b];if(!(g.parent===null||!g.isEnabled(n))){var m=O(a.idsByKind[g.parent].keys()),_;try{for(m.s();!(_=m.n()).done;){var x=_.value;a.idsByKind[b].set(x,a.nextId),a.lookup[a.nextId]={kind:b,key:x},a.nextId++}}catch(T){m.e(T)}finally{m.f()}}}}catch(T){v.e(T)}finally{v.f()}}function Pg(a,n){var e=O(Rt),t;try{for(e.s();!(t=e.n()).done;){var r=t.value,i=a[r],o=n[r];if(i!==o){if(i.size!==o.size)return!1;var s=O(i),l;try{for(s.s();!(l=s.n()).done;){var d=ae(l.value,2),c=d[0],f=d[1];if(o.get(c)!==f)return!1}}catch(p){s.e(p)}finally{s.f()}}}}catch(p){e.e(p)}finally{e.f()}return!0}function Pl(a,n,e){Ae[n.kind].setHover(a,n.key,e)}function Fg(a,n){return Ae[n.kind].getCursor(a,n.key)}function Mn(a,n){return"".concat(n).concat(Ae[a].eventSuffix)}function Nn(a,n){return W(W({},n),{},w({},Ae[a.kind].payloadKey,a.key))}function Ig(a,n,e){var t=Ae[n.kind].resolveForVerb;return t?t(n,e,a):n}function Mg(a,n){var e=Ae[n.kind].isHitValid;return e?e(a,n.key):!0}function _i(a){return Rt.filter(function(n){return n===a||Ae[n].parent===a})}function Hl(a,n,e){return n&&(n=Ig(a,n,e)),n&&!Mg(a,n)&&(n=null),n}function xi(a,n,e){var t=e==="wheel"?a.stateManager.hovered:a.getHitAtPosition(n);return Hl(a,t,e)}function Ng(a,n){return!a||!n?a===n:a.kind===n.kind&&a.key===n.key}function $l(a,n,e){var t={event:e,preventSigmaDefault:function(){return e.preventSigmaDefault()}},r=a.dragManager.session,i=r?{kind:"node",key:r.node}:Hl(a,n,"enter"),o=a.stateManager,s=o.hovered;Ng(s,i)||(s&&(Pl(a,s,!1),a.emit(Mn(s.kind,"leave"),Nn(s,t))),o.setHovered(i),i&&(Pl(a,i,!0),a.emit(Mn(i.kind,"enter"),Nn(i,t))),a.updateContainerCursor())}function Gg(a,n,e,t){t.handleResize=function(){return a.scheduleRefresh()},window.addEventListener("resize",t.handleResize),t.handleMove=function(i){a.hoverResolver.pointerMoved(Et(i))},t.handleMoveBody=function(i){var o=Et(i),s=a.dragManager;if(s.pendingNode&&!s.session){var l=a.nodeStyleAnalysis,d=l.xAttribute,c=l.yAttribute,f=a.settings;s.start(s.pendingNode,o,f.getDraggedNodes,d||"x",c||"y"),s.pendingNode=null}s.session&&(s.applyMove(o,a.settings.dragPositionToAttributes),a.emit("nodeDrag",{node:s.session.node,allDraggedNodes:s.session.allNodes,event:o}),o.preventSigmaDefault()),a.emit("moveBody",{event:o,preventSigmaDefault:function(){return o.preventSigmaDefault()}})},t.handleLeave=function(i){var o=Et(i),s={event:o,preventSigmaDefault:function(){return o.preventSigmaDefault()}};a.hoverResolver.pointerLeft(),$l(a,null,o),a.emit("leaveStage",s)},t.handleEnter=function(i){var o=Et(i);a.emit("enterStage",{event:o,preventSigmaDefault:function(){return o.preventSigmaDefault()}})};var r=function(o){return function(s){var l=Et(s),d={event:l,preventSigmaDefault:function(){return l.preventSigmaDefault()}},c=xi(a,l,o);if(c){a.emit(Mn(c.kind,o),Nn(c,d));return}a.emit("".concat(o,"Stage"),d)}};t.handleClick=r("click"),t.handleRightClick=r("rightClick"),t.handleDoubleClick=r("doubleClick"),t.handleWheel=r("wheel"),t.handleDown=function(i){var o=Et(i),s={event:o,preventSigmaDefault:function(){return o.preventSigmaDefault()}},l=xi(a,o,"down");if(l){l.kind==="node"&&a.settings.enableNodeDrag&&(a.dragManager.pendingNode=l.key),a.emit(Mn(l.kind,"down"),Nn(l,s));return}a.emit("downStage",s)},t.handleUp=function(i){var o=Et(i),s={event:o,preventSigmaDefault:function(){return o.preventSigmaDefault()}},l=a.dragManager.end();l&&a.emit("nodeDragEnd",W({node:l.node,allDraggedNodes:l.allNodes},s));var d=xi(a,o,"up");if(d){a.emit(Mn(d.kind,"up"),Nn(d,s));return}a.emit("upStage",s)},n.on("mousemove",t.handleMove),n.on("mousemovebody",t.handleMoveBody),n.on("click",t.handleClick),n.on("rightClick",t.handleRightClick),n.on("doubleClick",t.handleDoubleClick),n.on("wheel",t.handleWheel),n.on("mousedown",t.handleDown),n.on("mouseup",t.handleUp),n.on("mouseleave",t.handleLeave),n.on("mouseenter",t.handleEnter),e.on("touchdown",t.handleDown),e.on("touchdown",t.handleMove),e.on("touchup",t.handleUp),e.on("touchmove",t.handleMove),e.on("tap",t.handleClick),e.on("doubletap",t.handleDoubleClick),e.on("touchmove",t.handleMoveBody)}function zg(a,n){var e=a.graph,t=new Set(["x","y","zIndex","type"]);n.eachNodeAttributesUpdatedGraphUpdate=function(r){var i,o=(i=r.hints)===null||i===void 0?void 0:i.attributes,s=!o||o.some(function(l){return t.has(l)});a.refresh({partialGraph:{nodes:e.nodes()},skipIndexation:!s,schedule:!0})},n.eachEdgeAttributesUpdatedGraphUpdate=function(r){var i,o=(i=r.hints)===null||i===void 0?void 0:i.attributes,s=o&&["zIndex","type"].some(function(l){return o?.includes(l)});a.refresh({partialGraph:{edges:e.edges()},skipIndexation:!s,schedule:!0})},n.addNodeGraphUpdate=function(r){a.addNode(r.key),a.refresh({partialGraph:{nodes:[r.key]},skipIndexation:!1,schedule:!0})},n.updateNodeGraphUpdate=function(r){a.refresh({partialGraph:{nodes:[r.key]},skipIndexation:!1,schedule:!0})},n.dropNodeGraphUpdate=function(r){a.removeNode(r.key),a.refresh({schedule:!0})},n.addEdgeGraphUpdate=function(r){var i=r.key;a.edgeGroups.register(i),a.addEdge(i);var o=a.edgeGroups.getSiblings(i),s=O(o),l;try{for(s.s();!(l=s.n()).done;){var d=l.value;a.addEdge(d)}}catch(c){s.e(c)}finally{s.f()}a.refresh({partialGraph:{edges:[i].concat(q(o))},schedule:!0})},n.updateEdgeGraphUpdate=function(r){a.refresh({partialGraph:{edges:[r.key]},skipIndexation:!1,schedule:!0})},n.dropEdgeGraphUpdate=function(r){var i=r.key,o=a.edgeGroups.getSiblings(i);a.edgeGroups.unregister(i),a.removeEdge(i);var s=O(o),l;try{for(s.s();!(l=s.n()).done;){var d=l.value;a.addEdge(d)}}catch(c){s.e(c)}finally{s.f()}a.refresh({schedule:!0})},n.clearEdgesGraphUpdate=function(){a.clearEdgeState(),a.clearEdgeIndices(),a.refresh({schedule:!0})},n.clearGraphUpdate=function(){a.clearEdgeState(),a.clearNodeState(),a.clearEdgeIndices(),a.clearNodeIndices(),a.refresh({schedule:!0})},e.on("nodeAdded",n.addNodeGraphUpdate),e.on("nodeDropped",n.dropNodeGraphUpdate),e.on("nodeAttributesUpdated",n.updateNodeGraphUpdate),e.on("eachNodeAttributesUpdated",n.eachNodeAttributesUpdatedGraphUpdate),e.on("edgeAdded",n.addEdgeGraphUpdate),e.on("edgeDropped",n.dropEdgeGraphUpdate),e.on("edgeAttributesUpdated",n.updateEdgeGraphUpdate),e.on("eachEdgeAttributesUpdated",n.eachEdgeAttributesUpdatedGraphUpdate),e.on("edgesCleared",n.clearEdgesGraphUpdate),e.on("cleared",n.clearGraphUpdate)}function Og(a,n){a.removeListener("nodeAdded",n.addNodeGraphUpdate),a.removeListener("nodeDropped",n.dropNodeGraphUpdate),a.removeListener("nodeAttributesUpdated",n.updateNodeGraphUpdate),a.removeListener("eachNodeAttributesUpdated",n.eachNodeAttributesUpdatedGraphUpdate),a.removeListener("edgeAdded",n.addEdgeGraphUpdate),a.removeListener("edgeDropped",n.dropEdgeGraphUpdate),a.removeListener("edgeAttributesUpdated",n.updateEdgeGraphUpdate),a.removeListener("eachEdgeAttributesUpdated",n.eachEdgeAttributesUpdatedGraphUpdate),a.removeListener("edgesCleared",n.clearEdgesGraphUpdate),a.removeListener("cleared",n.clearGraphUpdate)}var Wg={x:.5,y:.5,angle:0,ratio:1},Bg=8,Ug=.001;function Hg(a){var n=a.coords,e=a.nodeData,t=a.dimensions,r=a.stagePadding,i=a.zoomToSizeRatioFunction,o=a.itemSizesReference,s=a.fitLabels,l=a.nodeLabelBox,d=Object.keys(n);if(!d.length)return a.extent;for(var c=i(1)||1,f=o==="positions",p=t.width,h=t.height,v=a.extent,y=0;y<Bg;y++){for(var b=ka(v),g={width:v.x[1]-v.x[0]||1,height:v.y[1]-v.y[0]||1},m=it(Wg,t,g,r),_=Fl(m,b({x:0,y:0}),p,h),x=Fl(m,b({x:1,y:0}),p,h),T=Math.hypot(x.x-_.x,x.y-_.y)||1,S=1/0,A=-1/0,E=1/0,D=-1/0,k=0,P=d.length;k<P;k++){var R=d[k],C=e[R],L=C.size/c*(f?T:1),M=-L,G=L,N=-L,F=L;if(s){var I=l(C,L);I&&(I.minX<M&&(M=I.minX),I.maxX>G&&(G=I.maxX),I.minY<N&&(N=I.minY),I.maxY>F&&(F=I.maxY))}var z=n[R],X=z.x,H=z.y;S=Math.min(S,X+M/T),A=Math.max(A,X+G/T),E=Math.min(E,H-F/T),D=Math.max(D,H-N/T)}var Q={x:[S,A],y:[E,D]},K=Math.max(Q.x[1]-Q.x[0],Q.y[1]-Q.y[0])||1,Z=Math.max(Math.abs(Q.x[0]-v.x[0]),Math.abs(Q.x[1]-v.x[1]),Math.abs(Q.y[0]-v.y[0]),Math.abs(Q.y[1]-v.y[1]));if(v=Q,Z/K<Ug)break}return v}function Fl(a,n,e,t){var r=Gt(a,n);return{x:(1+r.x)*e/2,y:(1-r.y)*t/2}}var $g=typeof navigator<"u"&&/Mac|iP(hone|ad|od)/.test(navigator.platform),Vg=1500,Xg=`.sigma-gesture-hint {
  position: absolute;
  inset: 0;
  display: flex;
  align-items: center;
  justify-content: center;
  text-align: center;
  padding: 1em;
  background: #00000066;
  color: #ffffff;
  font-size: 1em;
  pointer-events: none;
  transition: opacity 0.1s;
}`;function Il(a){var n,e,t=Ut("style");t.textContent=a,document.head.appendChild(t);var r=((n=(e=t.sheet)===null||e===void 0?void 0:e.cssRules.length)!==null&&n!==void 0?n:0)>0;return t.remove(),r}var wt=null;function jg(){return wt===null&&(wt=Xg,Il("@scope {}")&&(wt=`@scope {
`.concat(wt,`
}`)),Il("@layer sigma-gesture-hint {}")&&(wt=`@layer sigma-gesture-hint {
`.concat(wt,`
}`))),wt}var qg=(function(){function a(n){J(this,a),w(this,"hideTimeout",null),this.styleElement=Ut("style"),this.styleElement.textContent=jg(),n.appendChild(this.styleElement),this.element=Ut("div",{opacity:"0"},{class:"sigma-gesture-hint"}),n.appendChild(this.element)}return ee(a,[{key:"show",value:function(e,t){var r=this,i=e==="touch"?t.sharedGestureTouchMessage:$g?t.sharedGestureAppleWheelMessage:t.sharedGestureWheelMessage;i&&(this.element.textContent=i,this.element.style.opacity="1",typeof this.hideTimeout=="number"&&clearTimeout(this.hideTimeout),this.hideTimeout=window.setTimeout(function(){r.hideTimeout=null,r.element.style.opacity="0"},Vg))}},{key:"kill",value:function(){typeof this.hideTimeout=="number"&&clearTimeout(this.hideTimeout),this.styleElement.remove(),this.element.remove()}}])})(),Kg=(function(){function a(n){J(this,a),w(this,"readBuffer",null),w(this,"fence",null),w(this,"result",new Uint8Array(4)),w(this,"generation",0),w(this,"readGeneration",0),w(this,"lastEvent",null),w(this,"active",!1),w(this,"dirty",!1),w(this,"rafId",null),w(this,"killed",!1),this.options=n}return ee(a,[{key:"pointerMoved",value:function(e){this.lastEvent=e,this.active=!0,!this.options.isRenderPending()&&this.request()}},{key:"pointerLeft",value:function(){this.active=!1,this.dirty=!1}},{key:"frameRendered",value:function(){this.request()}},{key:"invalidate",value:function(){this.generation++}},{key:"request",value:function(){if(!(this.killed||!this.active||!this.lastEvent)){if(this.fence){this.dirty=!0;return}this.startRead()}}},{key:"startRead",value:function(){var e=this.options,t=e.gl,r=e.getFrameBuffer,i=e.getPixelRatio,o=e.getDownSizingRatio;this.readGeneration=this.generation;var s=this.lastEvent,l=Ir(t,s.x,s.y,i(),o()),d=ae(l,2),c=d[0],f=d[1];this.readBuffer||(this.readBuffer=t.createBuffer()),t.bindFramebuffer(t.FRAMEBUFFER,r()),t.bindBuffer(t.PIXEL_PACK_BUFFER,this.readBuffer),t.bufferData(t.PIXEL_PACK_BUFFER,4,t.STREAM_READ),t.readPixels(c,f,1,1,t.RGBA,t.UNSIGNED_BYTE,0),t.bindBuffer(t.PIXEL_PACK_BUFFER,null),t.bindFramebuffer(t.FRAMEBUFFER,null),this.fence=t.fenceSync(t.SYNC_GPU_COMMANDS_COMPLETE,0),t.flush(),this.schedulePoll(s)}},{key:"schedulePoll",value:function(e){var t=this;this.rafId=requestAnimationFrame(function(){t.rafId=null,t.poll(e)})}},{key:"poll",value:function(e){var t=this.options,r=t.gl,i=t.onIndex;if(!(this.killed||!this.fence)){var o=r.clientWaitSync(this.fence,0,0);if(o===r.TIMEOUT_EXPIRED){this.schedulePoll(e);return}if(r.deleteSync(this.fence),this.fence=null,o!==r.WAIT_FAILED&&this.readGeneration===this.generation){r.bindBuffer(r.PIXEL_PACK_BUFFER,this.readBuffer),r.getBufferSubData(r.PIXEL_PACK_BUFFER,0,this.result),r.bindBuffer(r.PIXEL_PACK_BUFFER,null);var s=ae(this.result,4),l=s[0],d=s[1],c=s[2],f=s[3];this.active&&i(Mr(l,d,c,f),e)}this.dirty&&(this.dirty=!1,this.active&&this.lastEvent&&!this.options.isRenderPending()&&this.startRead())}}},{key:"reset",value:function(){this.rafId!==null&&cancelAnimationFrame(this.rafId),this.rafId=null,this.fence=null,this.readBuffer=null,this.dirty=!1}},{key:"kill",value:function(){this.killed=!0,this.rafId!==null&&cancelAnimationFrame(this.rafId),this.rafId=null;var e=this.options.gl;this.fence&&e.deleteSync(this.fence),this.fence=null,this.readBuffer&&e.deleteBuffer(this.readBuffer),this.readBuffer=null}}])})(),Ml=(function(){function a(n,e){J(this,a),this.key=n,this.size=e}return ee(a,null,[{key:"compare",value:function(e,t){return e.size>t.size?-1:e.size<t.size||e.key>t.key?1:-1}}])})(),Va=(function(){function a(){J(this,a),w(this,"width",0),w(this,"height",0),w(this,"cellSize",0),w(this,"columns",0),w(this,"rows",0),w(this,"cells",{})}return ee(a,[{key:"resizeAndClear",value:function(e,t){this.width=e.width,this.height=e.height,this.cellSize=t,this.columns=Math.ceil(e.width/t),this.rows=Math.ceil(e.height/t),this.cells={}}},{key:"getIndex",value:function(e){var t=Math.floor(e.x/this.cellSize),r=Math.floor(e.y/this.cellSize);return r*this.columns+t}},{key:"add",value:function(e,t,r){var i=new Ml(e,t),o=this.getIndex(r),s=this.cells[o];s||(s=[],this.cells[o]=s),s.push(i)}},{key:"organize",value:function(){for(var e in this.cells){var t=this.cells[e];t.sort(Ml.compare)}}},{key:"getLabelsToDisplay",value:function(e,t,r){var i=this.cellSize*this.cellSize,o=i/e/e,s=o*t/i,l=Math.ceil(s),d=[];if(r)for(var c=Math.max(0,Math.floor(r.x1/this.cellSize)),f=Math.min(this.columns-1,Math.floor(r.x2/this.cellSize)),p=Math.max(0,Math.floor(r.y1/this.cellSize)),h=Math.min(this.rows-1,Math.floor(r.y2/this.cellSize)),v=p;v<=h;v++)for(var y=c;y<=f;y++){var b=v*this.columns+y,g=this.cells[b];if(g)for(var m=0;m<Math.min(l,g.length);m++)d.push(g[m].key)}else for(var _ in this.cells)for(var x=this.cells[_],T=0;T<Math.min(l,x.length);T++)d.push(x[T].key);return d}}])})();function Yg(a){var n=a.graph,e=a.hoveredNode,t=a.highlightedNodes,r=a.displayedNodeLabels,i=new Set,o=new Set(t);e&&o.add(e);var s=O(o),l;try{for(s.s();!(l=s.n()).done;){var d=l.value;n.hasNode(d)&&n.forEachEdge(d,function(h){i.add(h)})}}catch(h){s.e(h)}finally{s.f()}var c=O(r),f;try{var p=function(){var v=f.value;if(o.has(v))return 1;n.forEachEdge(v,function(y,b,g,m){var _=g===v?m:g;r.has(_)&&i.add(y)})};for(c.s();!(f=c.n()).done;)p()}catch(h){c.e(h)}finally{c.f()}return Array.from(i)}var Yt=150,Zt=50,Zg={both:0,node:1,label:2},Qg={over:0,above:1,below:2,auto:3},Nl=12,Jg=3,ep=(function(){function a(n){J(this,a),w(this,"labelGrid",new Va),w(this,"edgeAnchorGrid",new Va),w(this,"displayedNodeLabels",new Set),w(this,"displayedEdgeLabels",new Set),w(this,"edgeLabelCandidates",[]),w(this,"renderedNodeLabels",new Set),w(this,"labelSizeCache",new Map),w(this,"framePassPoints",new Float32Array(0)),w(this,"labelsDirty",!0),this.internals=n}return ee(a,[{key:"resetFrame",value:function(){this.displayedNodeLabels=new Set,this.renderedNodeLabels=new Set,this.labelSizeCache.clear()}},{key:"clearEdgeLabels",value:function(){this.displayedEdgeLabels=new Set}},{key:"resetLabelGrid",value:function(){this.labelGrid=new Va,this.edgeAnchorGrid=new Va}},{key:"processWebGLLabels",value:function(e){for(var t,r=this.internals,i=r.labelProgram,o=r.primitives,s=r.nodeDataCache,l=(o==null||(t=o.nodes)===null||t===void 0||(t=t.label)===null||t===void 0||(t=t.font)===null||t===void 0?void 0:t.family)||"sans-serif",d=new Map,c=0,f=e.length;c<f;c++){var p=e[c],h=s[p];if(!(h.visibility==="hidden"||!h.label)){var v=h.labelFont||l,y=d.get(v);y?y.push(h.label):d.set(v,[h.label])}}var b=O(d),g;try{for(b.s();!(g=b.n()).done;){var m=ae(g.value,2),_=m[0],x=m[1],T=Ca(_),S=T.family,A=T.weight,E=T.style,D=i.registerFont(S,A,E);i.ensureGlyphsReady(x,D)}}catch(k){b.e(k)}finally{b.f()}}},{key:"measureNodeLabel",value:function(e){var t,r;if(!e.label)return{width:0,height:0,textHeight:0};var i=this.internals,o=i.labelProgram,s=i.primitives,l=(t=e.labelSize)!==null&&t!==void 0?t:14,d=e.labelFont||(s==null||(r=s.nodes)===null||r===void 0||(r=r.label)===null||r===void 0||(r=r.font)===null||r===void 0?void 0:r.family)||"sans-serif",c="".concat(e.label,"|").concat(l,"|").concat(d);if(this.labelSizeCache.has(c))return this.labelSizeCache.get(c);var f=Ca(d),p=f.family,h=f.weight,v=f.style,y=o.registerFont(p,h,v),b=o.measureLabel(e.label,l,y);return this.labelSizeCache.set(c,b),b}},{key:"nodeLabelBox",value:function(e,t){var r,i,o,s,l;if(e.visibility==="hidden"||e.labelVisibility==="hidden")return null;var d=this.measureNodeLabel(e),c=d.width,f=d.height,p=d.textHeight;if(!c)return null;var h=(r=(i=this.internals.primitives)===null||i===void 0||(i=i.nodes)===null||i===void 0||(i=i.label)===null||i===void 0?void 0:i.margin)!==null&&r!==void 0?r:Vt,v=t+h,y=e.labelBackgroundColor?(o=e.labelBackgroundPadding)!==null&&o!==void 0?o:oi:0,b=c/2,g=f/2,m=b+y,_=g+y,x=p/2,T=0,S=0;switch((s=e.labelPosition)!==null&&s!==void 0?s:"right"){case"left":T=-(v+b);break;case"above":S=-(v+x);break;case"below":S=v+x;break;case"over":break;default:T=v+b}var A=(l=e.labelAngle)!==null&&l!==void 0?l:0,E=Fr({x:T,y:S},A),D=E.x,k=E.y,P=Math.abs(Math.cos(A)),R=Math.abs(Math.sin(A)),C=P*m+R*_,L=R*m+P*_;return{minX:D-C,maxX:D+C,minY:k-L,maxY:k+L}}},{key:"computeDisplayedNodeLabels",value:function(){var e=this.internals.getCameraState(),t=this.internals.getDimensions(),r=t.width,i=t.height,o=this.internals.viewportToFramedGraph({x:-Yt,y:-Zt}),s=this.internals.viewportToFramedGraph({x:r+Yt,y:-Zt}),l=this.internals.viewportToFramedGraph({x:-Yt,y:i+Zt}),d=this.internals.viewportToFramedGraph({x:r+Yt,y:i+Zt}),c=Math.min(o.x,s.x,l.x,d.x),f=Math.max(o.x,s.x,l.x,d.x),p=Math.min(o.y,s.y,l.y,d.y),h=Math.max(o.y,s.y,l.y,d.y),v=it({x:.5,y:.5,ratio:1,angle:0},{width:r,height:i},this.internals.getGraphDimensions(),this.internals.getStagePadding()),y=function(I){var z=Gt(v,I);return{x:(1+z.x)*r/2,y:(1-z.y)*i/2}},b=y({x:c,y:p}),g=y({x:f,y:p}),m=y({x:c,y:h}),_=y({x:f,y:h}),x={x1:Math.min(b.x,g.x,m.x,_.x),y1:Math.min(b.y,g.y,m.y,_.y),x2:Math.max(b.x,g.x,m.x,_.x),y2:Math.max(b.y,g.y,m.y,_.y)},T=this.internals,S=T.settings,A=T.nodeDataCache,E=T.nodesWithForcedLabels,D=this.labelGrid.getLabelsToDisplay(e.ratio,S.labelDensity,x);Kr(D,E);for(var k=0,P=D.length;k<P;k++){var R=D[k],C=A[R];if(!this.displayedNodeLabels.has(R)&&!(C.visibility==="hidden"||C.labelVisibility==="hidden")&&C.label&&!(C.x<c||C.x>f||C.y<p||C.y>h)){var L=this.internals.framedGraphToViewport(C),M=L.x,G=L.y,N=this.internals.scaleSize(C.size);!st(C)&&N<S.labelRenderedSizeThreshold||M<-Yt-N||M>r+Yt+N||G<-Zt-N||G>i+Zt+N||this.displayedNodeLabels.add(R)}}}},{key:"buildFramePassPoints",value:function(){var e=this.internals,t=e.nodeDataCache,r=e.nodeDataTexture;if(!r)return{data:this.framePassPoints,count:0};var i=this.displayedNodeLabels.size*3;this.framePassPoints.length<i&&(this.framePassPoints=new Float32Array(i));var o=this.framePassPoints,s=0,l=O(this.displayedNodeLabels),d;try{for(l.s();!(d=l.n()).done;){var c,f,p=d.value,h=t[p];if(h){var v=r.getIndex(p);v<0||(o[s*3]=v,o[s*3+1]=(c=$t[h.labelPosition||et.labelPosition])!==null&&c!==void 0?c:0,o[s*3+2]=(f=h.labelAngle)!==null&&f!==void 0?f:0,s++)}}}catch(y){l.e(y)}finally{l.f()}return{data:o,count:s}}},{key:"renderWebGLLabels",value:function(e,t){var r=this.internals,i=r.nodeDataCache,o=r.labelProgram,s=r.primitives,l=r.nodeDataTexture,d=[],c=O(this.displayedNodeLabels),f;try{for(c.s();!(f=c.n()).done;){var p=f.value;if(!this.renderedNodeLabels.has(p)){var h=i[p];t&&h.labelDepth!==t||(this.renderedNodeLabels.add(p),d.push(p))}}}catch(_e){c.e(_e)}finally{c.f()}if(d.length!==0){if(this.labelsDirty){for(var v,y,b,g=0,m=0,_=d.length;m<_;m++){var x=i[d[m]];g+=x.label.length}o.reallocate(g);for(var T=14,S=(v=s==null||(y=s.nodes)===null||y===void 0||(y=y.label)===null||y===void 0?void 0:y.margin)!==null&&v!==void 0?v:Vt,A=et.labelPosition,E=(s==null||(b=s.nodes)===null||b===void 0||(b=b.label)===null||b===void 0||(b=b.font)===null||b===void 0?void 0:b.family)||"sans-serif",D=new Map,k=0,P=0,R=d.length;P<R;P++){var C,L,M,G,N=d[P],F=i[N],I=F.labelFont||E,z=D.get(I);if(z===void 0){var X=Ca(I),H=X.family,Q=X.weight,K=X.style;z=o.registerFont(H,Q,K),D.set(I,z)}var Z={text:F.label,x:F.x,y:F.y,size:(C=F.labelSize)!==null&&C!==void 0?C:T,color:F.labelColor,nodeSize:F.size,margin:S,position:(L=F.labelPosition)!==null&&L!==void 0?L:A,hidden:!1,forceLabel:st(F),type:"default",zIndex:(M=F.zIndex)!==null&&M!==void 0?M:0,parentType:"node",parentKey:N,fontKey:z,labelAngle:(G=F.labelAngle)!==null&&G!==void 0?G:0,nodeIndex:l.getIndex(N)},De=o.processLabel(N,k,Z);k+=De}o.invalidateBuffers()}o.render(e)}}},{key:"renderBackdrops",value:function(e,t){var r=this.internals,i=r.backdropProgram,o=r.nodeDataCache,s=r.nodesWithBackdrop,l=r.attachmentManager,d=r.pixelRatio,c=r.nodeDataTexture,f=[],p=O(s),h;try{for(p.s();!(h=p.n()).done;){var v,y=h.value,b=o[y];if(!(!b||b.visibility==="hidden")&&!(t&&b.depth!==t)){var g=(v=c?.getIndex(y))!==null&&v!==void 0?v:-1;g<0||f.push({key:y,nodeIndex:g})}}}catch(ie){p.e(ie)}finally{p.f()}if(f.length!==0){i.reallocate(f.length);for(var m=0;m<f.length;m++){var _,x,T,S,A,E,D,k,P=f[m],R=P.key,C=P.nodeIndex,L=o[R],M=this.displayedNodeLabels.has(R),G=M?this.measureNodeLabel(L):{width:0,height:0,textHeight:0},N=G.textHeight,F=G.width,I=G.height,z=0,X=0;if(M&&L.labelAttachment&&l){var H=l.getEntry(R,L.labelAttachment);if(H){var Q=L.labelAttachmentPlacement||"below";if(Q==="below"||Q==="above"){var K=H.height/d;I+=K+ut,F=Math.max(F,H.width/d),X=Q==="below"?(K+ut)/2:-(K+ut)/2}else{var Z=H.width/d;F+=Z+ut,I=Math.max(I,H.height/d),z=Q==="right"?(Z+ut)/2:-(Z+ut)/2}}}var De=L.backdropColor?ot(L.backdropColor):[255,255,255,255],_e=L.backdropShadowColor?ot(L.backdropShadowColor):[0,0,0,128],Re=De.map(function(ie){return ie/255}),Ve=_e.map(function(ie){return ie/255}),Ye=(_=L.backdropShadowBlur)!==null&&_!==void 0?_:12,ht=(x=L.backdropPadding)!==null&&x!==void 0?x:6,ft=L.backdropBorderColor?ot(L.backdropBorderColor):[0,0,0,0],er=ft.map(function(ie){return ie/255}),On=(T=L.backdropBorderWidth)!==null&&T!==void 0?T:0,Jt=(S=L.backdropCornerRadius)!==null&&S!==void 0?S:0,en=(A=L.backdropLabelPadding)!==null&&A!==void 0?A:-1,Wn=en<0?ht:en,Pi=(E=Zg[(D=L.backdropArea)!==null&&D!==void 0?D:"both"])!==null&&E!==void 0?E:0,V={key:R,nodeIndex:C,label:L.label,labelWidth:F,labelHeight:I,textHeight:N,type:"default",position:L.labelPosition||et.labelPosition,labelAngle:(k=L.labelAngle)!==null&&k!==void 0?k:0,backdropColor:Re,backdropShadowColor:Ve,backdropShadowBlur:Ye,backdropPadding:ht,backdropBorderColor:er,backdropBorderWidth:On,backdropCornerRadius:Jt,backdropLabelPadding:Wn,backdropArea:Pi,labelBoxOffset:[z,X]};i.processBackdrop(m,V)}i.invalidateBuffers(),i.render(e)}}},{key:"renderLabelBackgrounds",value:function(e,t){var r=this.internals,i=r.labelBackgroundProgram,o=r.nodeDataCache,s=r.nodeDataTexture,l=Ae.nodeLabel.writesPickingThisFrame(this.internals),d=[],c=O(this.displayedNodeLabels),f;try{for(c.s();!(f=c.n()).done;){var p=f.value,h=o[p];!h||h.visibility==="hidden"||t&&h.labelDepth!==t||!l&&!h.labelBackgroundColor||d.push(p)}}catch(C){c.e(C)}finally{c.f()}if(d.length!==0){i.reallocate(d.length);for(var v=0;v<d.length;v++){var y,b,g,m,_=d[v],x=o[_],T=(y=s?.getIndex(_))!==null&&y!==void 0?y:-1;if(!(T<0)){var S=this.measureNodeLabel(x),A=S.width,E=S.height,D=S.textHeight,k=At(this.internals.pickingState,"nodeLabel",_)||At(this.internals.pickingState,"node",_),P=x.labelBackgroundColor?Oe(x.labelBackgroundColor):Oe("transparent"),R={nodeIndex:T,id:zt(k),color:P,labelWidth:A,labelHeight:E,textHeight:D,positionMode:(b=$t[x.labelPosition||et.labelPosition])!==null&&b!==void 0?b:0,labelAngle:(g=x.labelAngle)!==null&&g!==void 0?g:0,padding:(m=x.labelBackgroundPadding)!==null&&m!==void 0?m:oi};i.processLabelBackground(v,R)}}i.invalidateBuffers(),i.render(e)}}},{key:"cacheAttachments",value:function(e){var t=this.internals,r=t.attachmentManager,i=t.pixelRatio,o=t.nodeDataCache,s=t.nodesWithBackdrop,l=t.graph;if(r){var d=O(s),c;try{for(d.s();!(c=d.n()).done;){var f=c.value;if(this.displayedNodeLabels.has(f)){var p=o[f];if(!(!p||p.visibility==="hidden")&&!(e&&p.depth!==e)&&p.labelAttachment){var h=l.getNodeAttributes(f),v=this.measureNodeLabel(p),y=v.width,b=v.height,g={node:f,attributes:h,pixelRatio:i,labelWidth:y,labelHeight:b};r.renderAttachment(f,p.labelAttachment,g)}}}}catch(m){d.e(m)}finally{d.f()}r.regenerateAtlas()}}},{key:"renderAttachments",value:function(e,t){var r=this.internals,i=r.attachmentManager,o=r.attachmentProgram,s=r.nodeDataCache,l=r.nodesWithBackdrop,d=r.pixelRatio,c=r.nodeDataTexture;if(!(!i||!o)){var f=0;o.reallocateAttachments(l.size);var p=O(l),h;try{for(p.s();!(h=p.n()).done;){var v,y,b,g,m=h.value;if(this.displayedNodeLabels.has(m)){var _=s[m];if(!(!_||_.visibility==="hidden")&&!(t&&_.labelDepth!==t)&&_.labelAttachment){var x=i.getEntry(m,_.labelAttachment);if(x){var T=(v=c?.getIndex(m))!==null&&v!==void 0?v:-1;if(!(T<0)){var S=this.measureNodeLabel(_),A=S.width,E=S.height,D=S.textHeight,k=(y=el[_.labelAttachmentPlacement||"below"])!==null&&y!==void 0?y:0;o.processAttachment(f,{nodeIndex:T,atlasX:x.x,atlasY:x.y,atlasW:x.width,atlasH:x.height,attachWidth:x.width/d,attachHeight:x.height/d,positionMode:(b=$t[_.labelPosition||et.labelPosition])!==null&&b!==void 0?b:0,attachmentPlacement:k,labelWidth:A,labelHeight:E,textHeight:D,labelAngle:(g=_.labelAngle)!==null&&g!==void 0?g:0}),f++}}}}}}catch(P){p.e(P)}finally{p.f()}f!==0&&(o.reallocateAttachments(f),i.bindTexture(Cn),o.invalidateBuffers(),o.render(e))}}},{key:"computeDisplayedEdgeLabels",value:function(){var e=this.internals,t=e.graph,r=e.stateManager,i=e.settings,o=e.edgesWithForcedLabels,s=r.getHighlightedNodes(),l=i.edgeLabelAnchors==="allNodes"?new Set(this.edgeAnchorGrid.getLabelsToDisplay(this.internals.getCameraState().ratio,i.labelDensity)):this.displayedNodeLabels,d=r.hovered,c=Yg({graph:t,hoveredNode:d?.kind==="node"?d.key:null,displayedNodeLabels:l,highlightedNodes:s});Kr(c,o),this.edgeLabelCandidates=c,this.displayedEdgeLabels=new Set}},{key:"filterEdgeLabelsForDepth",value:function(e){for(var t=this.internals,r=t.graph,i=t.nodeDataCache,o=t.edgeDataCache,s=[],l=new Set,d=0,c=this.edgeLabelCandidates.length;d<c;d++){var f=this.edgeLabelCandidates[d];if(!l.has(f)){l.add(f);var p=r.extremities(f),h=i[p[0]],v=i[p[1]],y=o[f];!y||!h||!v||y.visibility==="hidden"||y.labelVisibility==="hidden"||h.visibility==="hidden"||v.visibility==="hidden"||e&&y.labelDepth!==e||y.label&&s.push(f)}}return s}},{key:"renderEdgeLabels",value:function(e,t){var r=this.internals,i=r.graph,o=r.nodeDataCache,s=r.edgeDataCache,l=r.primitives,d=r.edgeLabelProgram,c=r.nodeDataTexture,f=r.edgeDataTexture;if(d){var p=this.filterEdgeLabelsForDepth(t),h=O(p),v;try{for(h.s();!(v=h.n()).done;){var y=v.value;this.displayedEdgeLabels.add(y)}}catch(Z){h.e(Z)}finally{h.f()}if(p.length!==0){if(this.labelsDirty){var b,g,m=0,_=O(p),x;try{for(_.s();!(x=_.n()).done;){var T=x.value;m+=s[T].label.length}}catch(Z){_.e(Z)}finally{_.f()}d.reallocate(m);var S=(b=l==null||(g=l.edges)===null||g===void 0||(g=g.label)===null||g===void 0?void 0:g.margin)!==null&&b!==void 0?b:5,A="over",E=0,D=O(p),k;try{for(D.s();!(k=D.n()).done;){var P,R,C=k.value,L=i.extremities(C),M=L[0],G=L[1],N=o[M],F=o[G],I=s[C],z=c.getIndex(M),X=c.getIndex(G),H=f.getIndex(C),Q={text:I.label,x:(N.x+F.x)/2,y:(N.y+F.y)/2,size:Nl,color:I.labelColor,nodeSize:0,nodeIndex:-1,margin:S,position:(P=I.labelPosition)!==null&&P!==void 0?P:A,hidden:!1,forceLabel:st(I),type:"default",zIndex:(R=I.zIndex)!==null&&R!==void 0?R:0,parentType:"edge",parentKey:C,fontKey:"",labelAngle:0,sourceX:N.x,sourceY:N.y,targetX:F.x,targetY:F.y,sourceSize:N.size,targetSize:F.size,sourceShape:N.shape||"circle",targetShape:F.shape||"circle",edgeSize:I.size,offset:0,edgeAttributes:I,sourceNodeIndex:z,targetNodeIndex:X,edgeIndex:H},K=d.processEdgeLabel(C,E,Q);E+=K}}catch(Z){D.e(Z)}finally{D.f()}d.invalidateBuffers()}d.render(e)}}}},{key:"renderEdgeLabelBackgrounds",value:function(e,t){var r,i,o=this.internals,s=o.edgeLabelBackgroundProgram,l=o.edgeLabelProgram,d=o.edgeDataCache,c=o.primitives,f=o.edgeDataTexture;if(!(!f||!l||!s)){var p=Ae.edgeLabel.writesPickingThisFrame(this.internals),h=(r=c==null||(i=c.edges)===null||i===void 0||(i=i.label)===null||i===void 0?void 0:i.margin)!==null&&r!==void 0?r:5,v="over",y=this.filterEdgeLabelsForDepth(t),b=[],g=O(y),m;try{for(g.s();!(m=g.n()).done;){var _=m.value;!p&&!d[_].labelBackgroundColor||b.push(_)}}catch(N){g.e(N)}finally{g.f()}if(b.length!==0){s.reallocate(b.length);for(var x=0;x<b.length;x++){var T,S,A,E=b[x],D=d[E],k=D.label,P=l.measureLabelAtlasWidth(k),R=(T=D.labelPosition)!==null&&T!==void 0?T:v,C=typeof R=="string"&&(S=Qg[R])!==null&&S!==void 0?S:0,L=At(this.internals.pickingState,"edgeLabel",E)||At(this.internals.pickingState,"edge",E),M=D.labelBackgroundColor?Oe(D.labelBackgroundColor):Oe("transparent"),G={edgeIndex:f.getIndex(E),baseFontSize:Nl,totalTextWidth:P,positionMode:C,margin:h,padding:(A=D.labelBackgroundPadding)!==null&&A!==void 0?A:Jg,color:M,id:zt(L),edgeAttributes:D};s.processEdgeLabelBackground(x,E,G)}s.invalidateBuffers(),s.render(e)}}}}])})(),tp=(function(){function a(n,e,t,r){J(this,a),w(this,"nodeStates",new Map),w(this,"edgeStates",new Map),w(this,"hovered",null),w(this,"dirtyNodes",new Set),w(this,"dirtyEdges",new Set),w(this,"graphStateChanged",!1),w(this,"graphStateFlagsDirty",!1),this.scheduleRefresh=n,this.customNodeStateDefaults=e,this.customEdgeStateDefaults=t,this.customGraphStateDefaults=r,this.graphState=Ur(r)}return ee(a,[{key:"getNodeState",value:function(e){e=""+e;var t=this.nodeStates.get(e);return t||(t=Es(this.customNodeStateDefaults),this.nodeStates.set(e,t)),t}},{key:"getEdgeState",value:function(e){e=""+e;var t=this.edgeStates.get(e);return t||(t=ws(this.customEdgeStateDefaults),this.edgeStates.set(e,t)),t}},{key:"getGraphState",value:function(){return this.flushGraphStateFlags(),this.graphState}},{key:"getHighlightedNodes",value:function(){var e=new Set,t=O(this.nodeStates),r;try{for(t.s();!(r=t.n()).done;){var i=ae(r.value,2),o=i[0],s=i[1];s.isHighlighted&&e.add(o)}}catch(l){t.e(l)}finally{t.f()}return e}},{key:"setNodeState",value:function(e,t){e=""+e;var r=this.getNodeState(e);if(Bt(r,t)){var i=W(W({},r),t);this.nodeStates.set(e,i),this.dirtyNodes.add(e),this.updateHoveredNodeTracking(e,r,i),this.graphStateFlagsDirty=!0,this.scheduleRefresh()}}},{key:"setEdgeState",value:function(e,t){e=""+e;var r=this.getEdgeState(e);if(Bt(r,t)){var i=W(W({},r),t);this.edgeStates.set(e,i),this.dirtyEdges.add(e),this.updateHoveredEdgeTracking(e,r,i),this.graphStateFlagsDirty=!0,this.scheduleRefresh()}}},{key:"setGraphState",value:function(e){if(Bt(this.graphState,e)){var t=W(W({},this.graphState),e);t.isIdle=!t.isPanning&&!t.isZooming&&!t.isDragging,this.graphState=t,this.graphStateChanged=!0,this.scheduleRefresh()}}},{key:"setNodesState",value:function(e,t){var r=!1,i=O(e),o;try{for(i.s();!(o=i.n()).done;){var s=o.value;s=""+s;var l=this.getNodeState(s);if(Bt(l,t)){var d=W(W({},l),t);this.nodeStates.set(s,d),this.dirtyNodes.add(s),this.updateHoveredNodeTracking(s,l,d),r=!0}}}catch(c){i.e(c)}finally{i.f()}r&&(this.graphStateFlagsDirty=!0,this.scheduleRefresh())}},{key:"setEdgesState",value:function(e,t){var r=!1,i=O(e),o;try{for(i.s();!(o=i.n()).done;){var s=o.value;s=""+s;var l=this.getEdgeState(s);if(Bt(l,t)){var d=W(W({},l),t);this.edgeStates.set(s,d),this.dirtyEdges.add(s),this.updateHoveredEdgeTracking(s,l,d),r=!0}}}catch(c){i.e(c)}finally{i.f()}r&&(this.graphStateFlagsDirty=!0,this.scheduleRefresh())}},{key:"removeNode",value:function(e){this.nodeStates.delete(e),this.dirtyNodes.delete(e),this.clearHoveredFor("node",e)}},{key:"removeEdge",value:function(e){this.edgeStates.delete(e),this.dirtyEdges.delete(e),this.clearHoveredFor("edge",e)}},{key:"pruneNodes",value:function(e){var t=O(this.nodeStates.keys()),r;try{for(t.s();!(r=t.n()).done;){var i=r.value;e(i)||this.removeNode(i)}}catch(o){t.e(o)}finally{t.f()}}},{key:"pruneEdges",value:function(e){var t=O(this.edgeStates.keys()),r;try{for(t.s();!(r=t.n()).done;){var i=r.value;e(i)||this.removeEdge(i)}}catch(o){t.e(o)}finally{t.f()}}},{key:"clearNodes",value:function(){this.nodeStates.clear(),this.dirtyNodes.clear(),this.clearHoveredForKinds(_i("node"))}},{key:"clearEdges",value:function(){this.edgeStates.clear(),this.dirtyEdges.clear(),this.clearHoveredForKinds(_i("edge"))}},{key:"resetGraphState",value:function(){this.graphState=Ur(this.customGraphStateDefaults),this.graphStateChanged=!1,this.graphStateFlagsDirty=!1}},{key:"clearDirtyTracking",value:function(){this.dirtyNodes.clear(),this.dirtyEdges.clear(),this.graphStateChanged=!1}},{key:"setHovered",value:function(e){this.hovered=e}},{key:"clearHoveredFor",value:function(e,t){this.hovered&&this.hovered.key===t&&_i(e).includes(this.hovered.kind)&&(this.hovered=null)}},{key:"clearHoveredForKinds",value:function(e){this.hovered&&e.includes(this.hovered.kind)&&(this.hovered=null)}},{key:"updateGraphStateFromNodes",value:function(){var e,t=!1,r=!1,i=!1,o=O(this.nodeStates),s;try{for(o.s();!(s=o.n()).done;){var l=ae(s.value,2),d=l[1];if(d.isHovered&&(t=!0),d.isHighlighted&&(r=!0),d.isDragged&&(i=!0),t&&r&&i)break}}catch(f){o.e(f)}finally{o.f()}!t&&((e=this.hovered)===null||e===void 0?void 0:e.kind)==="edge"&&(t=!0);var c=!this.graphState.isPanning&&!this.graphState.isZooming&&!i;(this.graphState.hasHovered!==t||this.graphState.hasHighlighted!==r||this.graphState.isDragging!==i||this.graphState.isIdle!==c)&&(this.graphStateChanged=!0),this.graphState=W(W({},this.graphState),{},{hasHovered:t,hasHighlighted:r,isDragging:i,isIdle:c})}},{key:"updateGraphStateFromEdges",value:function(){var e,t=((e=this.hovered)===null||e===void 0?void 0:e.kind)==="node";if(!t){var r=O(this.edgeStates),i;try{for(r.s();!(i=r.n()).done;){var o=ae(i.value,2),s=o[1];if(s.isHovered){t=!0;break}}}catch(l){r.e(l)}finally{r.f()}}this.graphState.hasHovered!==t&&(this.graphStateChanged=!0),this.graphState=W(W({},this.graphState),{},{hasHovered:t})}},{key:"flushGraphStateFlags",value:function(){this.graphStateFlagsDirty&&(this.updateGraphStateFromNodes(),this.updateGraphStateFromEdges(),this.graphStateFlagsDirty=!1)}},{key:"updateHoveredNodeTracking",value:function(e,t,r){var i;if(t.isHovered!==r.isHovered)if(r.isHovered){var o;if(((o=this.hovered)===null||o===void 0?void 0:o.kind)==="node"&&this.hovered.key!==e){var s=this.hovered.key,l=this.getNodeState(s);this.nodeStates.set(s,W(W({},l),{},{isHovered:!1})),this.dirtyNodes.add(s)}this.hovered={kind:"node",key:e}}else((i=this.hovered)===null||i===void 0?void 0:i.kind)==="node"&&this.hovered.key===e&&(this.hovered=null)}},{key:"updateHoveredEdgeTracking",value:function(e,t,r){var i;if(t.isHovered!==r.isHovered)if(r.isHovered){var o;if(((o=this.hovered)===null||o===void 0?void 0:o.kind)==="edge"&&this.hovered.key!==e){var s=this.hovered.key,l=this.getEdgeState(s);this.edgeStates.set(s,W(W({},l),{},{isHovered:!1})),this.dirtyEdges.add(s)}this.hovered={kind:"edge",key:e}}else((i=this.hovered)===null||i===void 0?void 0:i.kind)==="edge"&&this.hovered.key===e&&(this.hovered=null)}}])})(),Gl=1,zl=2,Ol=3,Wl=4,np=(function(a){function n(e,t){var r,i,o,s,l,d=arguments.length>2&&arguments[2]!==void 0?arguments[2]:{};J(this,n),l=he(this,n),w(l,"nodeReducer",null),w(l,"edgeReducer",null),w(l,"stageCanvas",null),w(l,"mouseLayer",null),w(l,"gestureHint",null),w(l,"extraElements",{}),w(l,"webGLContext",null),w(l,"pickingFrameBuffer",null),w(l,"pickingTexture",null),w(l,"pickingDepthBuffer",null),w(l,"activeListeners",{}),w(l,"nodeVariableEntries",[]),w(l,"edgeVariableEntries",[]),w(l,"edgePathsByName",new Map),w(l,"nodeProgramIndex",{}),w(l,"edgeProgramIndex",{}),w(l,"edgeTextureIndexCache",{}),w(l,"nodeGraphCoords",{}),w(l,"nodeExtent",{x:[0,1],y:[0,1]}),w(l,"matrix",ze()),w(l,"invMatrix",ze()),w(l,"correctionRatio",1),w(l,"frameId",0),w(l,"customBBox",null),w(l,"gpuTimerExt",void 0),w(l,"activeGpuTimerQuery",null),w(l,"pendingGpuTimerQueries",[]),w(l,"normalizationFunction",ka({x:[0,1],y:[0,1]})),w(l,"graphToViewportRatio",1),w(l,"pickingState",Lg()),w(l,"prevNodeVisibilities",{}),w(l,"width",0),w(l,"height",0),w(l,"autoRescaleFrozen",!1),w(l,"stylesDeclaration",null),w(l,"resolvedStageStyle",{}),w(l,"renderFrame",null),w(l,"contextLost",!1),w(l,"pendingProcess","full"),w(l,"needToRefreshState",!1),w(l,"checkEdgesEventsFrame",null),w(l,"edgeStyleAnalysis",{dependency:"static",xAttribute:null,yAttribute:null}),w(l,"depthLayers",q(xa)),w(l,"customLayerPrograms",new Map),w(l,"nodeShapeSlug",null),w(l,"sdfAtlas",null),w(l,"depthRanges",{nodes:{},edges:{}}),w(l,"nodeBaseDepth",{}),w(l,"edgeBaseDepth",{});var c=d.primitives,f=d.styles,p=d.settings,h=p===void 0?{}:p,v=d.nodeReducer,y=d.edgeReducer,b=d.customNodeState,g=d.customEdgeState,m=d.customGraphState;l.stateManager=new tp(function(){return l.scheduleStateRefresh()},b,g,m);var _=c??ks;l.stylesDeclaration=f?{nodes:(r=f.nodes)!==null&&r!==void 0?r:Ea.nodes,edges:(i=f.edges)!==null&&i!==void 0?i:Ea.edges,stage:f.stage}:Ea,l.nodeReducer=v??null,l.edgeReducer=y??null;var x=Hr(l.stylesDeclaration.nodes);l.nodeReducer&&(x.dependency="graph-state"),l.edgeStyleAnalysis=Hr(l.stylesDeclaration.edges),l.edgeReducer&&(l.edgeStyleAnalysis.dependency="graph-state"),l.stylesDeclaration.stage&&(l.resolvedStageStyle=qr(l.stylesDeclaration.stage,l.stateManager.graphState));var T=Ms(h);if(La(T),T.enableNodeDrag){var S=x.xAttribute,A=x.yAttribute;if((!S||!A)&&!T.dragPositionToAttributes)throw new Error('Sigma: `enableNodeDrag` is true but position attribute names could not be inferred from styles. Either use attribute bindings for x/y in your node styles (e.g. `x: { attribute: "x" }`), or provide a `dragPositionToAttributes` setting.')}if(Is(e),!(t instanceof HTMLElement))throw new Error("Sigma: container should be an html element.");l.container=t,l.edgeGroups=new Dg(e,function(F,I){for(var z=0;z<F.length;z++){var X=l.stateManager.getEdgeState(F[z]);X.parallelIndex=z,X.parallelCount=I}});var E=new kg(e,l.viewportToGraph.bind(l),l.setNodesState.bind(l),function(F,I){return l.emit(F,I)});if(l.depthLayers=(o=_.depthLayers)!==null&&o!==void 0?o:q(xa),!(f!=null&&f.nodes)&&!ya.every(function(F){return l.depthLayers.includes(F)}))throw new Error("Sigma: depthLayers must include ".concat(ya.join(", ")," for the built-in node styles."));if(!(f!=null&&f.edges)&&!_a.every(function(F){return l.depthLayers.includes(F)}))throw new Error("Sigma: depthLayers must include ".concat(_a.join(", ")," for the built-in edge styles."));l.itemBuckets={nodes:new mi(l.depthLayers),edges:new mi(l.depthLayers)},l.initWebGLContext(),l.mouseLayer=Ut("div",{position:"absolute",touchAction:"none",userSelect:"none"},{class:"sigma-mouse"}),l.container.appendChild(l.mouseLayer),l.resolvedStageStyle.background&&(l.container.style.backgroundColor=l.resolvedStageStyle.background),l.resolvedStageStyle.cursor&&(l.container.style.cursor=l.resolvedStageStyle.cursor);var D=new Tl(l.webGLContext),k=new vi(l.webGLContext,{channels:1}),P=new Sl(l.webGLContext),R=new vi(l.webGLContext,{channels:4}),C=l.webGLContext,L=new Kg({gl:C,getFrameBuffer:function(){return l.pickingFrameBuffer},getPixelRatio:function(){return l.internals.pixelRatio},getDownSizingRatio:function(){return l.internals.settings.pickingDownSizingRatio},isRenderPending:function(){return l.renderFrame!==null},onIndex:function(I,z){var X;return $l(l.internals,(X=l.pickingState.lookup[I])!==null&&X!==void 0?X:null,z)}}),M=l.initPrograms(_,T),G=_==null||(s=_.nodes)===null||s===void 0?void 0:s.labelAttachments,N=null;return G&&Object.keys(G).length>0&&(N=new xl(C,G,function(){return l.scheduleRender()})),l.internals=W(W({nodeDataCache:{},edgeDataCache:{},nodesWithForcedLabels:new Set,nodesWithBackdrop:new Set,edgesWithForcedLabels:new Set,settings:T,primitives:_,pixelRatio:En(),graph:e,stateManager:l.stateManager,dragManager:E,hoverResolver:L,nodeStyleAnalysis:x,pickingState:l.pickingState},M),{},{attachmentManager:N,nodeDataTexture:D,nodeFrameTexture:k,edgeDataTexture:P,edgeFrameTexture:R,getDimensions:function(){return l.getDimensions()},getGraphDimensions:function(){return l.getGraphDimensions()},getStagePadding:function(){return l.getStagePadding()},getCameraState:function(){return l.camera.getState()},getHitAtPosition:function(I){return l.getHitAtPosition(I)},setNodeState:function(I,z){return l.setNodeState(I,z)},setEdgeState:function(I,z){return l.setEdgeState(I,z)},updateContainerCursor:function(){return l.updateContainerCursor()},scheduleRefresh:function(){return l.scheduleRefresh()},viewportToFramedGraph:function(I){return l.viewportToFramedGraph(I)},viewportToGraph:function(I){return l.viewportToGraph(I)},framedGraphToViewport:function(I){return l.framedGraphToViewport(I)},scaleSize:function(I){return l.scaleSize(I)},emit:function(I,z){return l.emit(I,z)}}),l.labelRenderer=new ep(l.internals),l.resize(),l.initializeWebGLLabels(),l.camera=new Al,l.bindCameraHandlers(),l.mouseCaptor=new Eg(l.mouseLayer,l),l.mouseCaptor.setSettings(l.internals.settings),l.touchCaptor=new Rg(l.mouseLayer,l),l.touchCaptor.setSettings(l.internals.settings),l.bindEventHandlers(),l.bindGraphHandlers(),l.handleSettingsUpdate(),l.refresh(),l}return fe(n,a),ee(n,[{key:"initializeWebGLLabels",value:function(){this.sdfAtlas=new xt,this.sdfAtlas.registerFont({family:"sans-serif",weight:"normal",style:"normal"})}},{key:"resetWebGLTexture",value:function(){var t=this.webGLContext;if(!this.pickingFrameBuffer)return this;var r=Math.ceil(this.width*this.internals.pixelRatio/this.internals.settings.pickingDownSizingRatio),i=Math.ceil(this.height*this.internals.pixelRatio/this.internals.settings.pickingDownSizingRatio);t.bindFramebuffer(t.FRAMEBUFFER,this.pickingFrameBuffer),this.pickingTexture&&t.deleteTexture(this.pickingTexture);var o=t.createTexture();o&&(t.bindTexture(t.TEXTURE_2D,o),t.texImage2D(t.TEXTURE_2D,0,t.RGBA,r,i,0,t.RGBA,t.UNSIGNED_BYTE,null),t.texParameteri(t.TEXTURE_2D,t.TEXTURE_MIN_FILTER,t.NEAREST),t.texParameteri(t.TEXTURE_2D,t.TEXTURE_MAG_FILTER,t.NEAREST),t.framebufferTexture2D(t.FRAMEBUFFER,t.COLOR_ATTACHMENT0,t.TEXTURE_2D,o,0),this.pickingTexture=o),this.pickingDepthBuffer&&t.deleteRenderbuffer(this.pickingDepthBuffer);var s=t.createRenderbuffer();return s&&(t.bindRenderbuffer(t.RENDERBUFFER,s),t.renderbufferStorage(t.RENDERBUFFER,t.DEPTH_COMPONENT16,r,i),t.framebufferRenderbuffer(t.FRAMEBUFFER,t.DEPTH_ATTACHMENT,t.RENDERBUFFER,s),this.pickingDepthBuffer=s),t.bindFramebuffer(t.FRAMEBUFFER,null),this}},{key:"bindCameraHandlers",value:function(){var t=this;return this.activeListeners.camera=function(){t.refreshMatrices(),t.labelRenderer.labelsDirty=!0,t.scheduleRender()},this.activeListeners.cameraAnimationStart=function(r){var i=r.from,o=r.to;i.ratio!==o.ratio&&t.stateManager.setGraphState({isZooming:!0})},this.activeListeners.cameraAnimationEnd=function(){t.stateManager.setGraphState({isZooming:!1})},this.camera.on("updated",this.activeListeners.camera),this.camera.on("animationStart",this.activeListeners.cameraAnimationStart),this.camera.on("animationEnd",this.activeListeners.cameraAnimationEnd),this}},{key:"unbindCameraHandlers",value:function(){return this.camera.removeListener("updated",this.activeListeners.camera),this.camera.removeListener("animationStart",this.activeListeners.cameraAnimationStart),this.camera.removeListener("animationEnd",this.activeListeners.cameraAnimationEnd),this}},{key:"getHitAtPosition",value:function(t){var r;if(this.contextLost)return null;var i=this.webGLContext;i.bindFramebuffer(i.FRAMEBUFFER,this.pickingFrameBuffer);var o=ls(i,this.pickingFrameBuffer,t.x,t.y,this.internals.pixelRatio,this.internals.settings.pickingDownSizingRatio),s=Mr.apply(void 0,q(o));return(r=this.pickingState.lookup[s])!==null&&r!==void 0?r:null}},{key:"bindEventHandlers",value:function(){return Gg(this.internals,this.mouseCaptor,this.touchCaptor,this.activeListeners),this}},{key:"bindGraphHandlers",value:function(){return zg({graph:this.internals.graph,edgeGroups:this.edgeGroups,addNode:this.addNode.bind(this),updateNode:this.updateNode.bind(this),removeNode:this.removeNode.bind(this),addEdge:this.addEdge.bind(this),updateEdge:this.updateEdge.bind(this),removeEdge:this.removeEdge.bind(this),clearEdgeState:this.clearEdgeState.bind(this),clearNodeState:this.clearNodeState.bind(this),clearEdgeIndices:this.clearEdgeIndices.bind(this),clearNodeIndices:this.clearNodeIndices.bind(this),refresh:this.refresh.bind(this)},this.activeListeners),this}},{key:"unbindGraphHandlers",value:function(){Og(this.internals.graph,this.activeListeners)}},{key:"getNodeShapeId",value:function(t){return this.internals.nodeShapeMap&&this.internals.nodeGlobalShapeIds&&t.shape&&t.shape in this.internals.nodeShapeMap?this.internals.nodeGlobalShapeIds[this.internals.nodeShapeMap[t.shape]]:Dn(t.shape||"circle")}},{key:"processNodes",value:function(){var t=this,r=this.internals.graph,i=this.internals.settings,o=this.getDimensions(),s=i.autoRescale,l=i.autoRescaleContent,d=this.nodeExtent;if(s===!1){var c=o.width,f=o.height;d={x:[-c/2,c/2],y:[-f/2,f/2]}}else(s!=="once"||!this.autoRescaleFrozen)&&(d=this.computeNodeExtent(),l!=="positions"&&!this.customBBox&&(d=Hg({extent:d,coords:this.nodeGraphCoords,nodeData:this.internals.nodeDataCache,dimensions:o,stagePadding:this.getStagePadding(),zoomToSizeRatioFunction:i.zoomToSizeRatioFunction,itemSizesReference:i.itemSizesReference,fitLabels:l==="labels",nodeLabelBox:function(X,H){return t.labelRenderer.nodeLabelBox(X,H)}})),s==="once"&&(this.autoRescaleFrozen=!0));this.nodeExtent=d,this.normalizationFunction=ka(this.customBBox||this.nodeExtent);var p=new Al,h=it(p.getState(),o,this.getGraphDimensions(),this.getStagePadding());this.labelRenderer.labelGrid.resizeAndClear(o,i.labelGridCellSize),this.labelRenderer.edgeAnchorGrid.resizeAndClear(o,i.labelGridCellSize);var v=i.renderEdgeLabels&&i.edgeLabelAnchors==="allNodes",y=!1;yi(this.pickingState,"node");for(var b=r.nodes(),g=0,m=b.length;g<m;g++){var _=b[g],x=this.internals.nodeDataCache[_],T=this.nodeGraphCoords[_];x.x=T.x,x.y=T.y,this.normalizationFunction.applyTo(x),x.visibility!==this.prevNodeVisibilities[_]&&(y=!0),typeof x.label=="string"&&x.visibility!=="hidden"&&x.labelVisibility!=="hidden"&&this.labelRenderer.labelGrid.add(_,x.size,this.framedGraphToViewport(x,{matrix:h})),v&&x.visibility!=="hidden"&&this.labelRenderer.edgeAnchorGrid.add(_,x.size,this.framedGraphToViewport(x,{matrix:h}))}this.labelRenderer.labelGrid.organize(),this.labelRenderer.edgeAnchorGrid.organize(),this.nodeProgram.reallocate(b.length);var S=0;this.depthRanges.nodes={},this.nodeBaseDepth={};var A=this.internals.nodeDataCache,E=O(this.depthLayers),D;try{for(E.s();!(D=E.n()).done;){var k=D.value,P=this.itemBuckets.nodes.getSorted(k,function(z){return A[z].zIndex});if(P.length!==0){this.depthRanges.nodes[k]=[{offset:S,count:P.length}];var R=O(P),C;try{for(R.s();!(C=R.n()).done;){var L=C.value;this.nodeBaseDepth[L]=k,this.nodeProgram.allocateNode(L),Cl(this.pickingState,"node",L),this.addNodeToProgram(L,S++)}}catch(z){R.e(z)}finally{R.f()}}}}catch(z){E.e(z)}finally{E.f()}this.nodeProgram.invalidateBuffers();for(var M=0,G=b.length;M<G;M++)this.prevNodeVisibilities[b[M]]=this.internals.nodeDataCache[b[M]].visibility;this.labelRenderer.processWebGLLabels(b);var N=O(this.customLayerPrograms.values()),F;try{for(N.s();!(F=N.n()).done;){var I=F.value.program;I.cacheData&&I.cacheData()}}catch(z){N.e(z)}finally{N.f()}return y}},{key:"processEdges",value:function(){var t=this.internals.graph,r=t.edges();this.edgeProgram.reallocate(r.length);var i=0;yi(this.pickingState,"edge"),this.depthRanges.edges={},this.edgeBaseDepth={};var o=this.internals.edgeDataCache,s=O(this.depthLayers),l;try{for(s.s();!(l=s.n()).done;){var d=l.value,c=this.itemBuckets.edges.getSorted(d,function(v){return o[v].zIndex});if(c.length!==0){this.depthRanges.edges[d]=[{offset:i,count:c.length}];var f=O(c),p;try{for(f.s();!(p=f.n()).done;){var h=p.value;this.edgeBaseDepth[h]=d,Cl(this.pickingState,"edge",h),this.addEdgeToProgram(h,i++)}}catch(v){f.e(v)}finally{f.f()}}}}catch(v){s.e(v)}finally{s.f()}this.edgeProgram.invalidateBuffers()}},{key:"updateNodeDepthRanges",value:function(t,r,i){var o=this.nodeProgramIndex[t];o!==void 0&&(Qr(this.depthRanges.nodes,r,o),Jr(this.depthRanges.nodes,i,o))}},{key:"updateEdgeDepthRanges",value:function(t,r,i){var o=this.edgeProgramIndex[t];o!==void 0&&(Qr(this.depthRanges.edges,r,o),Jr(this.depthRanges.edges,i,o))}},{key:"handleSettingsUpdate",value:function(){var t=this,r=this.internals.settings;return this.camera.minRatio=r.minCameraRatio,this.camera.maxRatio=r.maxCameraRatio,this.camera.enabledZooming=r.enableCameraZooming,this.camera.enabledPanning=r.enableCameraPanning,this.camera.enabledRotation=r.enableCameraRotation,r.cameraPanBoundaries?this.camera.constrainState=function(i){return t.cleanCameraState(i,r.cameraPanBoundaries&&te(r.cameraPanBoundaries)==="object"?r.cameraPanBoundaries:{})}:this.camera.constrainState=null,this.camera.setState(this.camera.getState()),this.mouseLayer.style.touchAction=r.gestureTarget==="graph"?"none":r.gestureTarget==="shared"?"pan-x pan-y":"auto",r.gestureTarget!=="shared"&&this.gestureHint&&(this.gestureHint.kill(),this.gestureHint=null),this.mouseCaptor.setSettings(this.internals.settings),this.touchCaptor.setSettings(this.internals.settings),this}},{key:"cleanCameraState",value:function(t){var r=arguments.length>1&&arguments[1]!==void 0?arguments[1]:{},i=r.tolerance,o=i===void 0?0:i,s=r.boundaries,l=W({},t),d=s||this.nodeExtent,c=ae(d.x,2),f=c[0],p=c[1],h=ae(d.y,2),v=h[0],y=h[1],b=[this.graphToViewport({x:f,y:v},{cameraState:t}),this.graphToViewport({x:p,y:v},{cameraState:t}),this.graphToViewport({x:f,y},{cameraState:t}),this.graphToViewport({x:p,y},{cameraState:t})],g=1/0,m=-1/0,_=1/0,x=-1/0;b.forEach(function(L){var M=L.x,G=L.y;g=Math.min(g,M),m=Math.max(m,M),_=Math.min(_,G),x=Math.max(x,G)});var T=m-g,S=x-_,A=this.getDimensions(),E=A.width,D=A.height,k=0,P=0;if(T>=E?m<E-o?k=m-(E-o):g>o&&(k=g-o):m>E+o?k=m-(E+o):g<-o&&(k=g+o),S>=D?x<D-o?P=x-(D-o):_>o&&(P=_-o):x>D+o?P=x-(D+o):_<-o&&(P=_+o),k||P){var R=this.viewportToFramedGraph({x:0,y:0},{cameraState:t}),C=this.viewportToFramedGraph({x:k,y:P},{cameraState:t});k=C.x-R.x,P=C.y-R.y,l.x+=k,l.y+=P}return l}},{key:"refreshMatrices",value:function(){var t=this.camera.getState(),r=this.getDimensions(),i=this.getGraphDimensions(),o=this.getStagePadding();this.matrix=it(t,r,i,o),this.invMatrix=it(t,r,i,o,!0),this.correctionRatio=rs(this.matrix,t,r),this.graphToViewportRatio=this.getGraphToViewportRatio()}},{key:"processData",value:function(){var t;this.emit("beforeProcess"),(t=this.internals.attachmentManager)===null||t===void 0||t.clear();var r=W({},this.pickingState.idsByKind),i=this.processNodes();(this.pendingProcess==="full"||i)&&this.processEdges(),Cg(this.pickingState,this.internals),Pg(r,this.pickingState.idsByKind)||this.internals.hoverResolver.invalidate(),this.pendingProcess="none",this.emit("afterProcess")}},{key:"render",value:function(){var t=this;if(this.contextLost)return this;this.emit("beforeRender");var r=function(){return t.internals.hoverResolver.frameRendered(),t.emit("afterRender"),t};if(this.renderFrame&&(cancelAnimationFrame(this.renderFrame),this.renderFrame=null),this.resize(),(this.pendingProcess!=="none"||this.needToRefreshState)&&(this.labelRenderer.labelsDirty=!0),this.pendingProcess!=="none"&&this.processData(),this.needToRefreshState&&this.refreshState(),this.needToRefreshState=!1,this.stateManager.clearDirtyTracking(),this.pendingProcess!=="none"&&this.processData(),this.clear(),this.resetWebGLTexture(),!this.internals.graph.order)return r();var i=this.mouseCaptor,o=this.camera.isAnimating()||i.isMoving||i.draggedEvents||i.currentWheelDirection;if(this.refreshMatrices(),this.frameId++,this.internals.settings.renderEdgeLabels&&!this.internals.edgeLabelProgram){var s=this.createEdgeLabelPrograms(),l=s.labelProgram,d=s.labelBackgroundProgram;this.internals.edgeLabelProgram=l,this.internals.edgeLabelBackgroundProgram=d}var c=this.internals.settings.DEBUG_logRenderStats?this.getDebugPrograms():null;c&&c.forEach(function(Z){return Z.resetDebugStats()}),this.internals.settings.DEBUG_gpuTimerQueries&&this.beginGpuTimerQuery(),this.internals.nodeFrameTexture.ensureCapacity(this.internals.nodeDataTexture.getCapacity()),this.internals.edgeFrameTexture.ensureCapacity(this.internals.edgeDataTexture.getCapacity());var f=this.getRenderParams(),p=Ae.edge.writesPickingThisFrame(this.internals)?f:W(W({},f),{},{pickingFrameBuffer:null});this.labelRenderer.resetFrame();var h=this.webGLContext,v=Math.ceil(this.width*this.internals.pixelRatio/this.internals.settings.pickingDownSizingRatio),y=Math.ceil(this.height*this.internals.pixelRatio/this.internals.settings.pickingDownSizingRatio);if(h.bindFramebuffer(h.FRAMEBUFFER,this.pickingFrameBuffer),h.viewport(0,0,v,y),h.clear(h.COLOR_BUFFER_BIT|h.DEPTH_BUFFER_BIT),h.bindFramebuffer(h.FRAMEBUFFER,null),h.viewport(0,0,this.width*this.internals.pixelRatio,this.height*this.internals.pixelRatio),h.clear(h.COLOR_BUFFER_BIT|h.DEPTH_BUFFER_BIT),this.internals.nodeDataTexture.upload(),this.internals.edgeDataTexture.upload(),this.nodeProgram.uploadLayerTexture(),this.edgeProgram.uploadAttributeTexture(),this.emit("afterTexturesUpload"),this.internals.nodeDataTexture.bind(Ol),this.internals.edgeDataTexture.bind(Wl),this.edgeFramePass.run(f,this.internals.edgeFrameTexture,this.internals.edgeDataTexture.getHighWaterMark(),this.edgeProgram.getAttributeTexture(),this.nodeProgram.getAttributeTexture()),this.internals.edgeFrameTexture.bind(Gl),this.internals.settings.renderLabels){this.labelRenderer.computeDisplayedNodeLabels();var b=this.labelRenderer.buildFramePassPoints(),g=b.data,m=b.count;this.nodeFramePass.run(g,m,this.internals.nodeFrameTexture,f,this.nodeProgram.getAttributeTexture()),this.internals.nodeFrameTexture.bind(zl)}this.internals.settings.renderEdgeLabels&&this.labelRenderer.computeDisplayedEdgeLabels();var _=O(this.customLayerPrograms.values()),x;try{for(_.s();!(x=_.n()).done;){var T=x.value.program;T.preRender&&T.preRender(f)}}catch(Z){_.e(Z)}finally{_.f()}h.bindFramebuffer(h.FRAMEBUFFER,null),h.viewport(0,0,this.width*this.internals.pixelRatio,this.height*this.internals.pixelRatio),h.blendFunc(h.ONE,h.ONE_MINUS_SRC_ALPHA);var S=!this.internals.settings.hideLabelsOnMove||!o,A=O(this.depthLayers),E;try{for(A.s();!(E=A.n()).done;){var D=E.value,k=O(this.customLayerPrograms.values()),P;try{for(k.s();!(P=k.n()).done;){var R=P.value;R.depth===D&&R.program.render(f)}}catch(Z){k.e(Z)}finally{k.f()}var C=this.depthRanges.edges[D];if(C&&(!this.internals.settings.hideEdgesOnMove||!o)){var L=O(C),M;try{for(L.s();!(M=L.n()).done;){var G=M.value,N=G.offset,F=G.count;F>0&&this.edgeProgram.render(p,N,F)}}catch(Z){L.e(Z)}finally{L.f()}}this.internals.settings.renderEdgeLabels&&S&&(this.labelRenderer.renderEdgeLabelBackgrounds(Ae.edgeLabel.writesPickingThisFrame(this.internals)?f:W(W({},f),{},{pickingFrameBuffer:null}),D),this.labelRenderer.renderEdgeLabels(f,D)),this.labelRenderer.cacheAttachments(D),this.labelRenderer.renderBackdrops(W(W({},f),{},{pickingFrameBuffer:null}),D);var I=this.depthRanges.nodes[D];if(I){var z=O(I),X;try{for(z.s();!(X=z.n()).done;){var H=X.value,Q=H.offset,K=H.count;K>0&&this.nodeProgram.render(f,Q,K)}}catch(Z){z.e(Z)}finally{z.f()}}S&&(this.labelRenderer.renderAttachments(W(W({},f),{},{pickingFrameBuffer:null}),D),this.labelRenderer.renderLabelBackgrounds(Ae.nodeLabel.writesPickingThisFrame(this.internals)?f:W(W({},f),{},{pickingFrameBuffer:null}),D),this.internals.settings.renderLabels&&this.labelRenderer.renderWebGLLabels(f,D))}}catch(Z){A.e(Z)}finally{A.f()}return this.labelRenderer.labelsDirty=!1,this.internals.settings.DEBUG_displayPickingLayer&&(h.bindFramebuffer(h.READ_FRAMEBUFFER,this.pickingFrameBuffer),h.bindFramebuffer(h.DRAW_FRAMEBUFFER,null),h.blitFramebuffer(0,0,v,y,0,0,this.width*this.internals.pixelRatio,this.height*this.internals.pixelRatio,h.COLOR_BUFFER_BIT,h.NEAREST)),this.internals.settings.DEBUG_gpuTimerQueries&&this.endGpuTimerQuery(),this.pollGpuTimerQueries(),c&&this.logRenderStats(c),r()}},{key:"getDebugPrograms",value:function(){return[this.nodeProgram,this.edgeProgram,this.internals.labelProgram,this.internals.edgeLabelProgram,this.internals.edgeLabelBackgroundProgram,this.internals.backdropProgram,this.internals.labelBackgroundProgram,this.internals.attachmentProgram].filter(function(t){return t!==null})}},{key:"logRenderStats",value:function(t){var r={},i=O(t),o;try{for(i.s();!(o=i.n()).done;){var s=o.value;r[s.constructor.name]=W({},s.debugStats)}}catch(l){i.e(l)}finally{i.f()}console.log("[sigma] DEBUG_logRenderStats: frame #".concat(this.frameId)),console.table(r)}},{key:"getGpuTimerExtension",value:function(){return this.gpuTimerExt===void 0&&(this.gpuTimerExt=this.webGLContext.getExtension("EXT_disjoint_timer_query_webgl2"),this.gpuTimerExt||console.warn("Sigma: DEBUG_gpuTimerQueries is enabled, but this browser/driver doesn't support EXT_disjoint_timer_query_webgl2.")),this.gpuTimerExt}},{key:"beginGpuTimerQuery",value:function(){var t=this.getGpuTimerExtension();if(t){var r=this.webGLContext,i=r.createQuery();i&&(r.beginQuery(t.TIME_ELAPSED_EXT,i),this.activeGpuTimerQuery=i)}}},{key:"endGpuTimerQuery",value:function(){!this.gpuTimerExt||!this.activeGpuTimerQuery||(this.webGLContext.endQuery(this.gpuTimerExt.TIME_ELAPSED_EXT),this.pendingGpuTimerQueries.push({query:this.activeGpuTimerQuery,frameId:this.frameId}),this.activeGpuTimerQuery=null)}},{key:"pollGpuTimerQueries",value:function(){if(this.pendingGpuTimerQueries.length!==0){var t=this.webGLContext,r=this.gpuTimerExt;if(!r){this.pendingGpuTimerQueries.forEach(function(f){var p=f.query;return t.deleteQuery(p)}),this.pendingGpuTimerQueries=[];return}var i=t.getParameter(r.GPU_DISJOINT_EXT),o=[],s=O(this.pendingGpuTimerQueries),l;try{for(s.s();!(l=s.n()).done;){var d=l.value;if(!t.getQueryParameter(d.query,t.QUERY_RESULT_AVAILABLE)){o.push(d);continue}if(!i){var c=t.getQueryParameter(d.query,t.QUERY_RESULT);console.log("[sigma] DEBUG_gpuTimerQueries: frame #".concat(d.frameId," GPU time = ").concat((c/1e6).toFixed(2),"ms"))}t.deleteQuery(d.query)}}catch(f){s.e(f)}finally{s.f()}this.pendingGpuTimerQueries=o}}},{key:"postEvaluateNode",value:function(t,r,i){var o=t;o.x===void 0&&(o.x=r.x),o.y===void 0&&(o.y=r.y),t.highlighted=i.isHighlighted;for(var s=0,l=this.nodeVariableEntries.length;s<l;s++){var d,c,f=ae(this.nodeVariableEntries[s],2),p=f[0],h=f[1];o[p]=(d=(c=o[p])!==null&&c!==void 0?c:r[p])!==null&&d!==void 0?d:h.default}}},{key:"addNode",value:function(t){var r=this.internals.graph.getNodeAttributes(t),i=this.stateManager.getNodeState(t),o=this.internals.nodeDataCache[t]||{};if(Xr(this.stylesDeclaration.nodes,r,i,this.stateManager.graphState,this.internals.graph,o),this.postEvaluateNode(o,r,i),this.nodeReducer){var s=this.nodeReducer(t,o,r,i,this.stateManager.graphState,this.internals.graph);o=W(W({},o),s)}if(typeof o.x!="number"||typeof o.y!="number")throw new Error('Sigma: could not find a valid position (x, y) for node "'.concat(t,'". ')+"Provide coordinates via node attributes, styles, or a nodeReducer.");this.internals.nodeShapeMap?(!o.shape||!(o.shape in this.internals.nodeShapeMap))&&(o.shape=Object.keys(this.internals.nodeShapeMap)[0]):this.nodeShapeSlug&&(o.shape=this.nodeShapeSlug),this.internals.nodeDataCache[t]=o,this.nodeGraphCoords[t]={x:o.x,y:o.y},_t(this.internals.nodesWithForcedLabels,t,st(o)),_t(this.internals.nodesWithBackdrop,t,Zr(o)),this.itemBuckets.nodes.set(t,o.depth)}},{key:"updateNode",value:function(t){this.addNode(t);var r=this.internals.nodeDataCache[t];this.normalizationFunction.applyTo(r)}},{key:"removeNode",value:function(t){this.itemBuckets.nodes.remove(t),delete this.internals.nodeDataCache[t],delete this.nodeGraphCoords[t],delete this.nodeProgramIndex[t],this.internals.dragManager.removeNode(t),this.stateManager.removeNode(t),this.internals.nodesWithForcedLabels.delete(t),this.internals.nodesWithBackdrop.delete(t)}},{key:"postEvaluateEdge",value:function(t,r){for(var i=t,o=0,s=this.edgeVariableEntries.length;o<s;o++){var l,d,c=ae(this.edgeVariableEntries[o],2),f=c[0],p=c[1];i[f]=(l=(d=i[f])!==null&&d!==void 0?d:r[f])!==null&&l!==void 0?l:p.default}}},{key:"applyEdgeSpread",value:function(t,r,i){var o;if(!(i.parallelCount<=1)){var s=this.internals.graph.source(t),l=this.internals.graph.target(t),d=s===l,c=d?r.selfLoopPath||r.path:r.parallelPath||r.path,f=c?this.edgePathsByName.get(c):void 0;if(f!=null&&f.spread){var p=(o=r.parallelSpread)!==null&&o!==void 0?o:.25,h=f.spread.compute(i.parallelIndex,i.parallelCount,p);!d&&this.internals.graph.isDirected(t)&&s>l&&(h=-h),r[f.spread.variable]=h}}}},{key:"addEdge",value:function(t){var r=this.internals.graph.getEdgeAttributes(t),i=this.stateManager.getEdgeState(t),o={};if(jr(this.stylesDeclaration.edges,r,i,this.stateManager.graphState,this.internals.graph,o),this.postEvaluateEdge(o,r),this.edgeReducer){var s=this.edgeReducer(t,o,r,i,this.stateManager.graphState,this.internals.graph);o=W(W({},o),s)}this.applyEdgeSpread(t,o,i),this.internals.edgeDataCache[t]=o,_t(this.internals.edgesWithForcedLabels,t,st(o)),this.itemBuckets.edges.set(t,o.depth)}},{key:"updateEdge",value:function(t){this.addEdge(t)}},{key:"removeEdge",value:function(t){this.itemBuckets.edges.remove(t),delete this.internals.edgeDataCache[t],delete this.edgeProgramIndex[t],delete this.edgeTextureIndexCache[t],this.internals.edgeDataTexture.free(t),this.stateManager.removeEdge(t),this.internals.edgesWithForcedLabels.delete(t)}},{key:"clearNodeIndices",value:function(){this.labelRenderer.resetLabelGrid(),this.autoRescaleFrozen||(this.nodeExtent={x:[0,1],y:[0,1]}),this.internals.nodeDataCache={},this.nodeGraphCoords={},this.edgeProgramIndex={},this.internals.nodesWithForcedLabels.clear(),this.internals.nodesWithBackdrop.clear(),this.prevNodeVisibilities={},this.itemBuckets.nodes.clearAll(),this.depthRanges.nodes={},this.nodeBaseDepth={}}},{key:"clearEdgeIndices",value:function(){this.internals.edgeDataCache={},this.edgeProgramIndex={},this.edgeTextureIndexCache={},this.internals.edgesWithForcedLabels.clear(),yi(this.pickingState,"edge"),this.itemBuckets.edges.clearAll(),this.depthRanges.edges={},this.edgeBaseDepth={},this.edgeGroups.clear()}},{key:"clearIndices",value:function(){this.clearEdgeIndices(),this.clearNodeIndices()}},{key:"clearNodeState",value:function(){this.labelRenderer.resetFrame(),this.internals.nodesWithBackdrop.clear(),this.internals.dragManager.clear(),this.autoRescaleFrozen=!1,this.stateManager.clearNodes()}},{key:"clearEdgeState",value:function(){this.labelRenderer.clearEdgeLabels(),this.stateManager.clearEdges()}},{key:"clearState",value:function(){this.clearEdgeState(),this.clearNodeState(),this.stateManager.resetGraphState()}},{key:"addNodeToProgram",value:function(t,r){var i,o=this.internals.nodeDataCache[t];this.internals.nodeDataTexture.allocate(t),(i=this.internals.nodeDataTexture).updateNode.apply(i,[t,o.x,o.y,o.size,this.getNodeShapeId(o)].concat(q(Ra(o)),[o.color]));var s=this.internals.nodeDataTexture.getIndex(t);this.nodeProgram.process(At(this.pickingState,"node",t),r,o,s,t),this.nodeProgramIndex[t]=r}},{key:"addEdgeToProgram",value:function(t,r){var i,o,s=this.internals.edgeDataCache[t],l=this.internals.graph.source(t),d=this.internals.graph.target(t),c=this.internals.edgeDataTexture.allocate(t);this.edgeTextureIndexCache[t]=c;var f=l===d,p=!f&&((i=(o=this.stateManager.getEdgeState(t))===null||o===void 0?void 0:o.parallelCount)!==null&&i!==void 0?i:1)>1,h=this.edgeProgram.resolveEdgeIds(s,f,p),v=h.pathId,y=h.headId,b=h.tailId,g=h.headLengthRatio,m=h.tailLengthRatio;this.internals.edgeDataTexture.updateEdge(t,this.internals.nodeDataTexture.getIndex(l),this.internals.nodeDataTexture.getIndex(d),s.size,g,m,v,y,b),this.edgeProgram.process(At(this.pickingState,"edge",t),r,this.internals.nodeDataCache[l],this.internals.nodeDataCache[d],s,c),this.edgeProgramIndex[t]=r}},{key:"getRenderParams",value:function(){return{frameId:this.frameId,matrix:this.matrix,invMatrix:this.invMatrix,width:this.width,height:this.height,pixelRatio:this.internals.pixelRatio,zoomRatio:this.camera.ratio,cameraAngle:this.camera.angle,sizeRatio:1/this.scaleSize(),correctionRatio:this.correctionRatio,downSizingRatio:this.internals.settings.pickingDownSizingRatio,minEdgeThickness:this.internals.settings.minEdgeThickness,antiAliasingFeather:this.internals.settings.antiAliasingFeather,nodePickingPadding:this.internals.settings.nodePickingPadding,edgePickingPadding:this.internals.settings.edgePickingPadding,labelPickingPadding:this.internals.settings.labelPickingPadding,nodeDataTextureUnit:Ol,nodeDataTextureWidth:this.internals.nodeDataTexture.getTextureWidth(),nodeFrameTextureUnit:zl,nodeFrameTextureWidth:this.internals.nodeFrameTexture.getTextureWidth(),edgeDataTextureUnit:Wl,edgeDataTextureWidth:this.internals.edgeDataTexture.getTextureWidth(),edgeFrameTextureUnit:Gl,edgeFrameTextureWidth:this.internals.edgeFrameTexture.getTextureWidth(),pickingFrameBuffer:this.pickingFrameBuffer,labelPixelSnapping:this.internals.settings.labelPixelSnapping?1:0}}},{key:"getStagePadding",value:function(){var t=this.internals.settings,r=t.stagePadding,i=t.autoRescale;return i&&r||0}},{key:"getLayerElement",value:function(t){if(t==="mouse")return this.mouseLayer;var r=this.extraElements[t];if(!r)throw new Error('Sigma: layer "'.concat(t,'" does not exist'));return r}},{key:"initWebGLContext",value:function(){var t=this,r=this.createWebGLContext("stage");this.stageCanvas=this.extraElements.stage,this.webGLContext=r,this.stageCanvas.addEventListener("webglcontextlost",function(i){t.webGLContext&&(i.preventDefault(),t.contextLost=!0,t.renderFrame&&(cancelAnimationFrame(t.renderFrame),t.renderFrame=null),t.gpuTimerExt=void 0,t.activeGpuTimerQuery=null,t.pendingGpuTimerQueries=[],t.emit("webglContextLost"))}),this.stageCanvas.addEventListener("webglcontextrestored",function(){requestAnimationFrame(function(){t.webGLContext&&!t.webGLContext.isContextLost()&&t.restoreWebGLContext()})}),this.initPickingFramebuffer()}},{key:"initPickingFramebuffer",value:function(){var t=this.webGLContext,r=t.createFramebuffer();if(!r)throw new Error("Sigma: cannot create picking frame buffer");t.bindFramebuffer(t.FRAMEBUFFER,r);var i=t.createTexture();if(!i)throw new Error("Sigma: cannot create picking texture");t.bindTexture(t.TEXTURE_2D,i),t.texImage2D(t.TEXTURE_2D,0,t.RGBA,1,1,0,t.RGBA,t.UNSIGNED_BYTE,null),t.texParameteri(t.TEXTURE_2D,t.TEXTURE_MIN_FILTER,t.NEAREST),t.texParameteri(t.TEXTURE_2D,t.TEXTURE_MAG_FILTER,t.NEAREST),t.texParameteri(t.TEXTURE_2D,t.TEXTURE_WRAP_S,t.CLAMP_TO_EDGE),t.texParameteri(t.TEXTURE_2D,t.TEXTURE_WRAP_T,t.CLAMP_TO_EDGE),t.framebufferTexture2D(t.FRAMEBUFFER,t.COLOR_ATTACHMENT0,t.TEXTURE_2D,i,0);var o=t.createRenderbuffer();if(!o)throw new Error("Sigma: cannot create picking depth buffer");if(t.bindRenderbuffer(t.RENDERBUFFER,o),t.renderbufferStorage(t.RENDERBUFFER,t.DEPTH_COMPONENT16,1,1),t.framebufferRenderbuffer(t.FRAMEBUFFER,t.DEPTH_ATTACHMENT,t.RENDERBUFFER,o),t.checkFramebufferStatus(t.FRAMEBUFFER)!==t.FRAMEBUFFER_COMPLETE)throw new Error("Sigma: picking framebuffer is not complete");t.bindFramebuffer(t.FRAMEBUFFER,null),this.pickingFrameBuffer=r,this.pickingTexture=i,this.pickingDepthBuffer=o}},{key:"initPrograms",value:function(t,r){var i=this,o=this.webGLContext,s=pl(o,this.pickingFrameBuffer,i,t?.nodes,r.antialiasNodes),l=s.nodeProgram,d=s.labelProgram,c=s.backdropProgram,f=s.labelBackgroundProgram,p=s.attachmentProgram,h=s.framePass,v=s.shapeSlug,y=s.shapeNameToIndex,b=s.shapeGlobalIds,g=s.variables;this.nodeProgram=l,this.nodeFramePass=h,this.nodeVariableEntries=Object.entries(g),v&&(this.nodeShapeSlug=v);var m=ml(o,this.pickingFrameBuffer,i,t?.edges,r.antialiasEdges,t?.nodes),_=m.edgeProgram,x=m.createLabelPrograms,T=m.framePass,S=m.variables,A=m.paths;return this.createEdgeLabelPrograms=x,this.edgeProgram=_,this.edgeFramePass=T,this.edgeVariableEntries=Object.entries(S),this.edgePathsByName=new Map(A.map(function(E){return[E.name,E]})),{labelProgram:d,edgeLabelProgram:null,edgeLabelBackgroundProgram:null,backdropProgram:c,labelBackgroundProgram:f,attachmentProgram:p,nodeShapeMap:y??null,nodeGlobalShapeIds:b??null}}},{key:"restoreWebGLContext",value:function(){var t,r,i,o,s,l=this.internals;this.initPickingFramebuffer(),(t=l.nodeDataTexture)===null||t===void 0||t.restore(),(r=l.nodeFrameTexture)===null||r===void 0||r.restore(),(i=l.edgeDataTexture)===null||i===void 0||i.restore(),(o=l.edgeFrameTexture)===null||o===void 0||o.restore(),(s=l.attachmentManager)===null||s===void 0||s.restore(),l.hoverResolver.reset(),Object.assign(l,this.initPrograms(l.primitives,l.settings));var d=O(this.customLayerPrograms.values()),c;try{for(d.s();!(c=d.n()).done;){var f=c.value;f.program.kill(),f.program=f.factory(this.webGLContext)}}catch(p){d.e(p)}finally{d.f()}this.contextLost=!1,this.emit("webglContextRestored"),this.refresh()}},{key:"createLayer",value:function(t,r){var i=arguments.length>2&&arguments[2]!==void 0?arguments[2]:{};if(this.extraElements[t])throw new Error('Sigma: a layer named "'.concat(t,'" already exists'));var o=Ut(r,{position:"absolute"},{class:"sigma-".concat(t)});return i.style&&Object.assign(o.style,i.style),this.extraElements[t]=o,"beforeLayer"in i&&i.beforeLayer?this.getLayerElement(i.beforeLayer).before(o):"afterLayer"in i&&i.afterLayer?this.getLayerElement(i.afterLayer).after(o):this.container.appendChild(o),o}},{key:"createCanvas",value:function(t){var r=arguments.length>1&&arguments[1]!==void 0?arguments[1]:{};return this.createLayer(t,"canvas",r)}},{key:"createWebGLContext",value:function(t){var r=arguments.length>1&&arguments[1]!==void 0?arguments[1]:{},i=this.createCanvas(t,r);r.hidden&&i.remove();var o=i.getContext("webgl2",W({preserveDrawingBuffer:!1,antialias:!1,depth:!0},r));if(!o)throw new Error("Sigma: WebGL 2 is not supported by your browser. Please use a modern browser (Chrome 56+, Firefox 51+, Safari 15+, Edge 79+).");return o.blendFunc(o.ONE,o.ONE_MINUS_SRC_ALPHA),o}},{key:"killLayer",value:function(t){if(t==="stage"||t==="mouse")throw new Error('Sigma: cannot kill built-in layer "'.concat(t,'"'));var r=this.extraElements[t];if(!r)throw new Error("Sigma: cannot kill layer ".concat(t,", which does not exist"));return r.remove(),delete this.extraElements[t],this}},{key:"getWebGLContext",value:function(){if(!this.webGLContext)throw new Error("Sigma: WebGL context is not available");return this.webGLContext}},{key:"getNodeDataTexture",value:function(){if(!this.internals.nodeDataTexture)throw new Error("Sigma: node data texture is not available");return this.internals.nodeDataTexture}},{key:"getNormalizationFunction",value:function(){return this.normalizationFunction}},{key:"addCustomLayerProgram",value:function(t,r,i){var o;if(!this.depthLayers.includes(r))throw new Error('Sigma: cannot add custom layer program at depth "'.concat(r,'", ')+"it must be declared in primitives.depthLayers. Current layers: ".concat(this.depthLayers.join(", ")));(o=this.customLayerPrograms.get(t))===null||o===void 0||o.program.kill();var s=i(this.webGLContext);return this.customLayerPrograms.set(t,{depth:r,factory:i,program:s}),s.cacheData&&s.cacheData(),this.scheduleRender(),this}},{key:"removeCustomLayerProgram",value:function(t){var r=this.customLayerPrograms.get(t);return r&&(r.program.kill(),this.customLayerPrograms.delete(t),this.scheduleRender()),this}},{key:"getCamera",value:function(){return this.camera}},{key:"setCamera",value:function(t){return this.camera.cancelAnimation(),this.unbindCameraHandlers(),this.camera=t,this.bindCameraHandlers(),this.scheduleRender(),this}},{key:"getContainer",value:function(){return this.container}},{key:"getGraph",value:function(){return this.internals.graph}},{key:"setGraph",value:function(t){return t===this.internals.graph?this:(this.stateManager.pruneNodes(function(r){return t.hasNode(r)}),this.stateManager.pruneEdges(function(r){return t.hasEdge(r)}),this.unbindGraphHandlers(),this.checkEdgesEventsFrame!==null&&(cancelAnimationFrame(this.checkEdgesEventsFrame),this.checkEdgesEventsFrame=null),this.internals.graph=t,this.autoRescaleFrozen=!1,this.bindGraphHandlers(),this.refresh(),this)}},{key:"getMouseCaptor",value:function(){return this.mouseCaptor}},{key:"getTouchCaptor",value:function(){return this.touchCaptor}},{key:"getDimensions",value:function(){return{width:this.width,height:this.height}}},{key:"getGraphDimensions",value:function(){var t=this.customBBox||this.nodeExtent;return{width:t.x[1]-t.x[0]||1,height:t.y[1]-t.y[0]||1}}},{key:"getNodeDisplayData",value:function(t){var r=this.internals.nodeDataCache[t];return r?Object.assign({},r):void 0}},{key:"getEdgeDisplayData",value:function(t){var r=this.internals.edgeDataCache[t];return r?Object.assign({},r):void 0}},{key:"getNodeState",value:function(t){return this.stateManager.getNodeState(t)}},{key:"getEdgeState",value:function(t){return this.stateManager.getEdgeState(t)}},{key:"getGraphState",value:function(){return this.stateManager.getGraphState()}},{key:"setNodeState",value:function(t,r){return this.stateManager.setNodeState(t,r),this}},{key:"setEdgeState",value:function(t,r){return this.stateManager.setEdgeState(t,r),this}},{key:"setGraphState",value:function(t){return this.stateManager.setGraphState(t),this}},{key:"_setPanning",value:function(t){this.stateManager.setGraphState({isPanning:t})}},{key:"_setZooming",value:function(t){this.stateManager.setGraphState({isZooming:t})}},{key:"_hasNodeDrag",value:function(){var t=this.internals.dragManager;return!!(t.pendingNode||t.session)}},{key:"_showGestureHint",value:function(t){var r=this.internals.settings;r.gestureTarget==="shared"&&(this.gestureHint=this.gestureHint||new qg(this.container),this.gestureHint.show(t,r))}},{key:"setNodesState",value:function(t,r){return this.stateManager.setNodesState(t,r),this}},{key:"setEdgesState",value:function(t,r){return this.stateManager.setEdgesState(t,r),this}},{key:"updateContainerCursor",value:function(){var t=this.stateManager.hovered,r=this.resolvedStageStyle.cursor||"";this.container.style.cursor=t&&Fg(this.internals,t)||r}},{key:"refreshStageStyle",value:function(){this.resolvedStageStyle=qr(this.stylesDeclaration.stage,this.stateManager.graphState),this.resolvedStageStyle.background!==void 0&&(this.container.style.backgroundColor=this.resolvedStageStyle.background),this.updateContainerCursor()}},{key:"getNodeDisplayedLabels",value:function(){return new Set(this.labelRenderer.displayedNodeLabels)}},{key:"getEdgeDisplayedLabels",value:function(){return new Set(this.labelRenderer.displayedEdgeLabels)}},{key:"getSettings",value:function(){return W({},this.internals.settings)}},{key:"getSetting",value:function(t){return this.internals.settings[t]}},{key:"getStyles",value:function(){return W({},this.stylesDeclaration)}},{key:"getPrimitives",value:function(){return W({},this.internals.primitives)}},{key:"setSetting",value:function(t,r){return this.internals.settings[t]=r,La(this.internals.settings),this.handleSettingsUpdate(),this.scheduleRefresh(),this}},{key:"updateSetting",value:function(t,r){return this.setSetting(t,r(this.internals.settings[t])),this}},{key:"setSettings",value:function(t){return this.internals.settings=W(W({},this.internals.settings),t),La(this.internals.settings),this.handleSettingsUpdate(),this.scheduleRefresh(),this}},{key:"resize",value:function(t){var r=this.width,i=this.height;if(this.width=this.container.offsetWidth,this.height=this.container.offsetHeight,this.internals.pixelRatio=En(),this.width===0)if(this.internals.settings.allowInvalidContainer)this.width=1;else throw new Error("Sigma: Container has no width. You can set the allowInvalidContainer setting to true to stop seeing this error.");if(this.height===0)if(this.internals.settings.allowInvalidContainer)this.height=1;else throw new Error("Sigma: Container has no height. You can set the allowInvalidContainer setting to true to stop seeing this error.");if(!t&&r===this.width&&i===this.height)return this;this.labelRenderer.labelsDirty=!0;for(var o=0,s=[this.mouseLayer].concat(q(Object.values(this.extraElements)));o<s.length;o++){var l=s[o];l.style.width=this.width+"px",l.style.height=this.height+"px"}return this.webGLContext&&(this.stageCanvas.setAttribute("width",this.width*this.internals.pixelRatio+"px"),this.stageCanvas.setAttribute("height",this.height*this.internals.pixelRatio+"px"),this.webGLContext.viewport(0,0,this.width*this.internals.pixelRatio,this.height*this.internals.pixelRatio)),this.emit("resize"),this}},{key:"clear",value:function(){return this.emit("beforeClear"),this.webGLContext.bindFramebuffer(WebGLRenderingContext.FRAMEBUFFER,null),this.webGLContext.clear(WebGLRenderingContext.COLOR_BUFFER_BIT),this.emit("afterClear"),this}},{key:"scheduleStateRefresh",value:function(){this.needToRefreshState=!0,this.scheduleRender()}},{key:"refreshState",value:function(){var t=this,r;this.stateManager.flushGraphStateFlags();var i=this.stateManager.graphStateChanged&&this.internals.nodeStyleAnalysis.dependency==="graph-state",o=this.stateManager.graphStateChanged&&this.edgeStyleAnalysis.dependency==="graph-state",s=!1;if(i)this.internals.graph.forEachNode(function(v){t.refreshNodeState(v)&&(s=!0)});else if(this.internals.nodeStyleAnalysis.dependency!=="static"){var l=O(this.stateManager.dirtyNodes),d;try{for(l.s();!(d=l.n()).done;){var c=d.value;this.refreshNodeState(c)&&(s=!0)}}catch(v){l.e(v)}finally{l.f()}}if(o)this.internals.graph.forEachEdge(function(v){t.refreshEdgeState(v)&&(s=!0)});else if(this.edgeStyleAnalysis.dependency!=="static"){var f=O(this.stateManager.dirtyEdges),p;try{for(f.s();!(p=f.n()).done;){var h=p.value;this.refreshEdgeState(h)&&(s=!0)}}catch(v){f.e(v)}finally{f.f()}}this.stateManager.graphStateChanged&&(r=this.stylesDeclaration)!==null&&r!==void 0&&r.stage&&this.refreshStageStyle(),this.stateManager.clearDirtyTracking(),s&&(this.pendingProcess="full")}},{key:"refreshNodeState",value:function(t){var r=this.internals.nodeDataCache[t];if(!r||this.nodeReducer){var i,o,s,l,d=(i=this.internals.nodeDataCache[t])===null||i===void 0?void 0:i.depth,c=(o=this.internals.nodeDataCache[t])===null||o===void 0?void 0:o.zIndex,f=(s=this.internals.nodeDataCache[t])===null||s===void 0?void 0:s.labelAttachment;this.updateNode(t);var p=this.internals.nodeDataCache[t];this.internals.attachmentManager&&p.labelAttachment!==f&&this.internals.attachmentManager.invalidateNode(t);var h;this.internals.nodeShapeMap&&this.internals.nodeGlobalShapeIds&&p.shape&&p.shape in this.internals.nodeShapeMap?h=this.internals.nodeGlobalShapeIds[this.internals.nodeShapeMap[p.shape]]:h=Dn(p.shape||"circle"),(l=this.internals.nodeDataTexture).updateNode.apply(l,[t,p.x,p.y,p.size,h].concat(q(Ra(p)),[p.color])),d&&p.depth!==d&&this.updateNodeDepthRanges(t,d,p.depth);var v=this.nodeProgramIndex[t];return v!==void 0&&(this.addNodeToProgram(t,v),this.nodeProgram.invalidateBuffers()),c!==void 0&&p.zIndex!==c}var y=this.internals.graph.getNodeAttributes(t),b=this.stateManager.getNodeState(t),g=r.size,m=r.shape,_=r.depth,x=r.zIndex,T=r.labelAttachment,S=r.rotationAlignment,A=r.labelRotationAlignment,E=r.color;Xr(this.stylesDeclaration.nodes,y,b,this.stateManager.graphState,this.internals.graph,r),this.postEvaluateNode(r,y,b);var D=this.nodeGraphCoords[t],k=r.x!==D.x||r.y!==D.y;if(k&&(D.x=r.x,D.y=r.y),this.normalizationFunction.applyTo(r),this.internals.nodeShapeMap?(!r.shape||!(r.shape in this.internals.nodeShapeMap))&&(r.shape=Object.keys(this.internals.nodeShapeMap)[0]):this.nodeShapeSlug&&(r.shape=this.nodeShapeSlug),this.internals.attachmentManager&&r.labelAttachment!==T&&this.internals.attachmentManager.invalidateNode(t),_t(this.internals.nodesWithForcedLabels,t,st(r)),_t(this.internals.nodesWithBackdrop,t,Zr(r)),k||r.size!==g||r.shape!==m||r.rotationAlignment!==S||r.labelRotationAlignment!==A||r.color!==E){var P,R;this.internals.nodeShapeMap&&this.internals.nodeGlobalShapeIds&&r.shape&&r.shape in this.internals.nodeShapeMap?R=this.internals.nodeGlobalShapeIds[this.internals.nodeShapeMap[r.shape]]:R=Dn(r.shape||"circle"),(P=this.internals.nodeDataTexture).updateNode.apply(P,[t,r.x,r.y,r.size,R].concat(q(Ra(r)),[r.color]))}this.itemBuckets.nodes.set(t,r.depth),r.depth!==_&&this.updateNodeDepthRanges(t,_,r.depth);var C=this.nodeProgramIndex[t];return C!==void 0&&(this.addNodeToProgram(t,C),this.nodeProgram.invalidateBuffers()),r.zIndex!==x}},{key:"refreshEdgeState",value:function(t){var r=this.internals.edgeDataCache[t];if(!r||this.edgeReducer){var i=r?.depth,o=r?.zIndex;this.updateEdge(t);var s=this.internals.edgeDataCache[t];i&&s.depth!==i&&this.updateEdgeDepthRanges(t,i,s.depth);var l=this.edgeProgramIndex[t];return l!==void 0&&(this.addEdgeToProgram(t,l),this.edgeProgram.invalidateBuffers()),o!==void 0&&s.zIndex!==o}var d=this.internals.graph.getEdgeAttributes(t),c=this.stateManager.getEdgeState(t),f=r.depth,p=r.zIndex,h=r.size,v=r.path,y=r.selfLoopPath,b=r.parallelPath,g=r.head,m=r.tail;jr(this.stylesDeclaration.edges,d,c,this.stateManager.graphState,this.internals.graph,r),this.postEvaluateEdge(r,d),this.applyEdgeSpread(t,r,c),_t(this.internals.edgesWithForcedLabels,t,st(r)),this.itemBuckets.edges.set(t,r.depth),r.depth!==f&&this.updateEdgeDepthRanges(t,f,r.depth);var _=this.edgeProgramIndex[t];if(_!==void 0){var x=r.size!==h||r.path!==v||r.selfLoopPath!==y||r.parallelPath!==b||r.head!==g||r.tail!==m;if(x)this.addEdgeToProgram(t,_),this.edgeProgram.invalidateBuffers();else{var T=this.internals.graph.source(t),S=this.internals.graph.target(t),A=this.internals.nodeDataCache[T],E=this.internals.nodeDataCache[S],D=this.edgeTextureIndexCache[t];this.edgeProgram.process(At(this.pickingState,"edge",t),_,A,E,r,D),this.edgeProgram.invalidateBuffers()}}return r.zIndex!==p}},{key:"refresh",value:function(t){var r=this,i=t?.skipIndexation!==void 0?t?.skipIndexation:!1,o=t?.schedule!==void 0?t.schedule:!1,s=!t||!t.partialGraph;if(s)this.clearEdgeIndices(),this.clearNodeIndices(),this.internals.graph.forEachNode(function(A){return r.addNode(A)}),this.edgeGroups.rebuild(),this.internals.graph.forEachEdge(function(A){return r.addEdge(A)}),this.pendingProcess="full";else{for(var l,d,c=((l=t.partialGraph)===null||l===void 0?void 0:l.nodes)||[],f=0,p=c?.length||0;f<p;f++){var h,v,y=""+c[f],b=(h=this.internals.nodeDataCache[y])===null||h===void 0?void 0:h.labelAttachment;if(this.updateNode(y),this.internals.attachmentManager&&((v=this.internals.nodeDataCache[y])!==null&&v!==void 0&&v.labelAttachment||b)&&this.internals.attachmentManager.invalidateNode(y),i){var g=this.nodeProgramIndex[y];if(g===void 0)throw new Error('Sigma: node "'.concat(y,`" can't be repaint`));this.addNodeToProgram(y,g)}}i&&c.length>0&&(this.nodeProgram.invalidateBuffers(),this.labelRenderer.labelsDirty=!0);for(var m=(t==null||(d=t.partialGraph)===null||d===void 0?void 0:d.edges)||[],_=0,x=m.length;_<x;_++){var T=""+m[_];if(this.updateEdge(T),i){var S=this.edgeProgramIndex[T];if(S===void 0)throw new Error('Sigma: edge "'.concat(T,`" can't be repaint`));this.addEdgeToProgram(T,S)}}i&&m.length>0&&(this.edgeProgram.invalidateBuffers(),this.labelRenderer.labelsDirty=!0),!i&&this.pendingProcess!=="full"&&(this.pendingProcess=m.length>0?"full":"nodes")}return o?this.scheduleRender():this.render(),this}},{key:"scheduleRender",value:function(){var t=this;return this.renderFrame||(this.renderFrame=requestAnimationFrame(function(){t.render()})),this}},{key:"scheduleRefresh",value:function(t){return this.refresh(W(W({},t),{},{schedule:!0}))}},{key:"getViewportZoomedState",value:function(t,r){var i=this.camera.getState(),o=i.ratio,s=i.angle,l=i.x,d=i.y,c=this.internals.settings,f=c.minCameraRatio,p=c.maxCameraRatio;typeof p=="number"&&(r=Math.min(r,p)),typeof f=="number"&&(r=Math.max(r,f));var h=r/o,v={x:this.width/2,y:this.height/2},y=this.viewportToFramedGraph(t),b=this.viewportToFramedGraph(v);return{angle:s,x:(y.x-b.x)*(1-h)+l,y:(y.y-b.y)*(1-h)+d,ratio:r}}},{key:"viewRectangle",value:function(){var t=this.viewportToFramedGraph({x:0,y:0}),r=this.viewportToFramedGraph({x:this.width,y:0}),i=this.viewportToFramedGraph({x:0,y:this.height});return{x1:t.x,y1:t.y,x2:r.x,y2:r.y,height:r.y-i.y}}},{key:"framedGraphToViewport",value:function(t){var r=arguments.length>1&&arguments[1]!==void 0?arguments[1]:{},i=!!r.cameraState||!!r.viewportDimensions||!!r.graphDimensions||!!r.padding,o=r.matrix||(i?it(r.cameraState||this.camera.getState(),r.viewportDimensions||this.getDimensions(),r.graphDimensions||this.getGraphDimensions(),r.padding||this.getStagePadding()):this.matrix),s=Gt(o,t);return{x:(1+s.x)*this.width/2,y:(1-s.y)*this.height/2}}},{key:"viewportToFramedGraph",value:function(t){var r=arguments.length>1&&arguments[1]!==void 0?arguments[1]:{},i=!!r.cameraState||!!r.viewportDimensions||!!r.graphDimensions||!!r.padding,o=r.matrix||(i?it(r.cameraState||this.camera.getState(),r.viewportDimensions||this.getDimensions(),r.graphDimensions||this.getGraphDimensions(),r.padding||this.getStagePadding(),!0):this.invMatrix),s=Gt(o,{x:t.x/this.width*2-1,y:1-t.y/this.height*2});return isNaN(s.x)&&(s.x=0),isNaN(s.y)&&(s.y=0),s}},{key:"viewportToGraph",value:function(t){var r=arguments.length>1&&arguments[1]!==void 0?arguments[1]:{};return this.normalizationFunction.inverse(this.viewportToFramedGraph(t,r))}},{key:"graphToViewport",value:function(t){var r=arguments.length>1&&arguments[1]!==void 0?arguments[1]:{};return this.framedGraphToViewport(this.normalizationFunction(t),r)}},{key:"graphToFramedGraph",value:function(t){return this.normalizationFunction(t)}},{key:"framedGraphToGraph",value:function(t){return this.normalizationFunction.inverse(t)}},{key:"getGraphToViewportRatio",value:function(){var t={x:0,y:0},r={x:1,y:1},i=Math.sqrt(Math.pow(t.x-r.x,2)+Math.pow(t.y-r.y,2)),o=this.graphToViewport(t),s=this.graphToViewport(r),l=Math.sqrt(Math.pow(o.x-s.x,2)+Math.pow(o.y-s.y,2));return l/i}},{key:"computeNodeExtent",value:function(){var t=this.nodeGraphCoords,r=Object.keys(t);if(!r.length)return{x:[0,1],y:[0,1]};for(var i=1/0,o=-1/0,s=1/0,l=-1/0,d=0,c=r.length;d<c;d++){var f=t[r[d]],p=f.x,h=f.y;p<i&&(i=p),p>o&&(o=p),h<s&&(s=h),h>l&&(l=h)}return{x:[i,o],y:[s,l]}}},{key:"getBBox",value:function(){return this.nodeExtent}},{key:"getCustomBBox",value:function(){return this.customBBox}},{key:"setCustomBBox",value:function(t){return this.customBBox=t,this.scheduleRender(),this}},{key:"kill",value:function(){var t,r,i,o,s;this.emit("kill"),this.removeAllListeners(),this.camera.cancelAnimation(),this.unbindCameraHandlers(),window.removeEventListener("resize",this.activeListeners.handleResize),this.mouseCaptor.kill(),this.touchCaptor.kill(),this.internals.hoverResolver.kill(),this.unbindGraphHandlers(),this.clearIndices(),this.clearState(),this.internals.nodeDataCache={},this.internals.edgeDataCache={},this.renderFrame&&(cancelAnimationFrame(this.renderFrame),this.renderFrame=null);for(var l=this.container;l.firstChild;)l.removeChild(l.firstChild);this.nodeProgram.kill(),this.nodeFramePass.kill(),this.edgeProgram.kill(),this.edgeFramePass.kill(),this.internals.labelProgram.kill(),(t=this.internals.edgeLabelProgram)===null||t===void 0||t.kill(),(r=this.internals.edgeLabelBackgroundProgram)===null||r===void 0||r.kill(),this.internals.backdropProgram.kill(),this.internals.labelBackgroundProgram.kill(),(i=this.internals.attachmentProgram)===null||i===void 0||i.kill(),(o=this.internals.attachmentManager)===null||o===void 0||o.kill(),this.internals.attachmentProgram=null,this.internals.attachmentManager=null;var d=O(this.customLayerPrograms.values()),c;try{for(d.s();!(c=d.n()).done;){var f=c.value.program;f.kill()}}catch(v){d.e(v)}finally{d.f()}if(this.customLayerPrograms.clear(),this.sdfAtlas&&(this.sdfAtlas=null),this.internals.nodeDataTexture&&(this.internals.nodeDataTexture.kill(),this.internals.nodeDataTexture=null),this.internals.nodeFrameTexture&&(this.internals.nodeFrameTexture.kill(),this.internals.nodeFrameTexture=null),this.internals.edgeDataTexture&&(this.internals.edgeDataTexture.kill(),this.internals.edgeDataTexture=null),this.internals.edgeFrameTexture&&(this.internals.edgeFrameTexture.kill(),this.internals.edgeFrameTexture=null),this.webGLContext){var p;(p=this.webGLContext.getExtension("WEBGL_lose_context"))===null||p===void 0||p.loseContext(),this.webGLContext=null}(s=this.gestureHint)===null||s===void 0||s.kill(),this.gestureHint=null,this.mouseLayer.remove();for(var h in this.extraElements)this.extraElements[h].remove();this.extraElements={}}},{key:"scaleSize",value:function(){var t=arguments.length>0&&arguments[0]!==void 0?arguments[0]:1,r=arguments.length>1&&arguments[1]!==void 0?arguments[1]:this.camera.ratio;return t/this.internals.settings.zoomToSizeRatioFunction(r)*(this.getSetting("itemSizesReference")==="positions"?r*this.graphToViewportRatio:1)}},{key:"getStageCanvas",value:function(){return this.stageCanvas}},{key:"getMouseLayer",value:function(){return this.mouseLayer}}])})(Aa),Vl=np;var Ov=gt(Ct());function Xl(a,n){return typeof a=="number"?a:(te(a)==="object"&&a!==null&&"attribute"in a,n)}function jl(a){var n=a??{},e=n.cornerRadius,t=n.rotation,r=Xl(e,0),i=Xl(t,0),o=`
`.concat(si,`
float sdf_square(vec2 uv, float size, float cornerRadius, float rotation) {
  // Apply rotation if needed
  vec2 p = uv;
  if (rotation != 0.0) {
    p = rotate2D(rotation) * p;
  }

  // Distance to box with given corner radius
  // Based on Inigo Quilez's box SDF: https://iquilezles.org/articles/distfunctions2d/
  vec2 d = abs(p) - vec2(size - cornerRadius);
  return length(max(d, 0.0)) + min(max(d.x, d.y), 0.0) - cornerRadius;
}
`);return{name:"square",glsl:o,uniforms:[{name:"u_cornerRadius",type:"float",value:r},{name:"u_rotation",type:"float",value:i}],inradiusFactor:Math.SQRT1_2}}function ql(a){var n=a??{},e=n.segments,t=e===void 0?16:e,r=`
// Compute control point from curvature
// Control point is placed perpendicular to the midpoint of source-target line
vec2 computeControlPoint(vec2 source, vec2 target, float curvature) {
  vec2 midpoint = 0.5 * (source + target);
  vec2 delta = target - source;
  // Perpendicular direction (rotated 90 degrees)
  vec2 perp = vec2(-delta.y, delta.x);
  float len = length(perp);
  if (len < 0.0001) return midpoint;
  perp = perp / len;
  // Offset by curvature * edge length
  return midpoint + perp * curvature * len;
}

// Position at parameter t ∈ [0, 1]
vec2 path_curved_position(float t, vec2 source, vec2 target) {
  float curvature = v_curvature;
  vec2 control = computeControlPoint(source, target, curvature);
  float u = 1.0 - t;
  return u * u * source + 2.0 * u * t * control + t * t * target;
}

// Derivative of quadratic Bezier (for efficient arc length computation)
vec2 path_curved_derivative(float t, vec2 source, vec2 target) {
  float curvature = v_curvature;
  vec2 control = computeControlPoint(source, target, curvature);
  // B'(t) = 2(1-t)(P1-P0) + 2t(P2-P1)
  return 2.0 * (1.0 - t) * (control - source) + 2.0 * t * (target - control);
}

// Approximate arc length using 5-point Gauss-Legendre quadrature
float path_curved_length(vec2 source, vec2 target) {
  // Gauss-Legendre 5-point weights and abscissae
  const float x1 = 0.9061798459, x2 = 0.5384693101;
  const float w1 = 0.2369268850, w2 = 0.4786286705, w3 = 0.5688888889;

  // Transform from [-1,1] to [0,1]: t = 0.5 * (x + 1)
  float t1a = 0.5 * (-x1 + 1.0), t1b = 0.5 * (x1 + 1.0);
  float t2a = 0.5 * (-x2 + 1.0), t2b = 0.5 * (x2 + 1.0);

  // Evaluate derivative magnitudes at sample points
  float d1a = length(path_curved_derivative(t1a, source, target));
  float d1b = length(path_curved_derivative(t1b, source, target));
  float d2a = length(path_curved_derivative(t2a, source, target));
  float d2b = length(path_curved_derivative(t2b, source, target));
  float d3 = length(path_curved_derivative(0.5, source, target));

  // Sum weighted samples (factor of 0.5 for interval transformation)
  return 0.5 * (w1 * (d1a + d1b) + w2 * (d2a + d2b) + w3 * d3);
}
`;return{name:"curved",segments:t,glsl:r,uniforms:[],attributes:[{name:"curvature",size:1,type:WebGL2RenderingContext.FLOAT}],variables:{curvature:{type:"number",default:0}},spread:{variable:"curvature",compute:function(o,s,l){return(o-(s-1)/2)*l}}}}function Kl(a){let n=new Map,e=[...a.nodes.values()].filter(o=>o.kind==="switch").map(o=>o.guid).sort(),t=new Map(e.map((o,s)=>[o,s])),r=e.map(o=>{let s=a.neighbours(o).flatMap(l=>t.get(l)??[]);return[...new Set(s)]}),i=rp(r);e.length<=800&&ip(i,r),i.forEach((o,s)=>n.set(e[s],{x:o.x*2,y:o.y}));for(let o of e){let s=n.get(o),l=a.hostsOf.get(o)??[],d=Math.atan2(s.y,s.x);l.forEach((c,f)=>{let p=d+(f-(l.length-1)/2)*(Math.PI/Math.max(l.length,4));n.set(c,{x:s.x+.5*Math.cos(p),y:s.y+.5*Math.sin(p)})})}return n}function ap(a,n){let e=new Float64Array(a.length).fill(-1);e[n]=0;let t=[n];for(let i=0;i<t.length;i+=1){let o=t[i];for(let s of a[o])e[s]<0&&(e[s]=e[o]+1,t.push(s))}let r=e.reduce((i,o)=>Math.max(i,o),0)+2;return e.map(i=>i<0?r:i)}function rp(a){let n=a.length;if(n===0)return[];let e=[],t=new Float64Array(n).fill(1/0),r=0;for(let b=0;b<Math.min(40,n);b+=1){let g=ap(a,r);for(let m=0;m<n;m+=1)t[m]=Math.min(t[m],g[m]);e.push(g.map(m=>m*m)),r=t.reduce((m,_,x)=>_>t[m]?x:m,0)}let i=e.length,o=new Float64Array(n),s=0;for(let b of e)b.forEach((g,m)=>o[m]=o[m]+g/i);o.forEach(b=>s+=b/n);let l=e.map(b=>{let g=b.reduce((m,_)=>m+_,0)/n;return b.map((m,_)=>-.5*(m-g-o[_]+s))}),d=[],c=b=>{let g=Float64Array.from({length:i},(_,x)=>Math.sin((x+1)*b)),m=new Float64Array(n);for(let _=0;_<60;_+=1){for(let T of d){let S=T.reduce((A,E,D)=>A+E*g[D],0);g=g.map((A,E)=>A-S*T[E])}m=new Float64Array(n),l.forEach((T,S)=>T.forEach((A,E)=>m[E]=m[E]+A*g[S])),g=Float64Array.from(l,T=>T.reduce((S,A,E)=>S+A*m[E],0));let x=Math.hypot(...g)||1;g=g.map(T=>T/x)}return d.push(g),m},f=c(1),p=c(2.3),h=b=>Math.sqrt(n)/(b.reduce((g,m)=>Math.max(g,Math.abs(m)),0)||1),v=h(f),y=h(p);return Array.from(f,(b,g)=>({x:b*v+Math.cos(g*2.4)*.3,y:p[g]*y+Math.sin(g*2.4)*.3}))}function ip(a,n){for(let e=0;e<120;e+=1){let t=.6*(1-e/120),r=a.map(()=>({x:0,y:0}));for(let i=0;i<a.length;i+=1){for(let o=0;o<i;o+=1){let s=a[i].x-a[o].x,l=a[i].y-a[o].y,d=1/(s*s+l*l+.01);r[i].x+=s*d,r[i].y+=l*d,r[o].x-=s*d,r[o].y-=l*d}for(let o of n[i]){let s=a[o].x-a[i].x,l=a[o].y-a[i].y,d=Math.hypot(s,l)*.35;r[i].x+=s*d,r[i].y+=l*d}}a.forEach((i,o)=>{let{x:s,y:l}=r[o],d=Math.hypot(s,l)||1;i.x+=s/d*Math.min(d,t),i.y+=l/d*Math.min(d,t)})}}var Zl=1.35,op=2;function Ql(a,n){let e=new Map;switch(a.structure?.kind){case"tree":sp(a,e,n);break;case"grid":lp(a,e);break;case"dragonfly":dp(a,e);break;default:for(let[t,r]of Kl(a))e.set(t,r)}return up(a,e),e}function Yl(a){return Math.max(1,Math.ceil(Math.sqrt(a/3)))}function sp(a,n,e){let t=a.structure.switches.filter(b=>a.nodes.has(b.guid)),r=new Map;for(let b of t){let g=b.level??0,m=r.get(g);m?m.push(b):r.set(g,[b])}let i=0,o,s=new Map,l=1,d=r.get(0)??[],c=new Map;for(let b of d)c.set(b.group,(c.get(b.group)??0)+1);for(let b of d){let g=e.drawsHostsOf(b.guid)?(a.hostsOf.get(b.guid)??[]).length:0,m=Yl(g);l=Math.max(l,Math.ceil(g/m)),b.group!==o&&(i+=2),o=b.group;let _=e.blockOf(b.guid)!==void 0?op/c.get(o):m+1;if(n.set(b.guid,{x:i+_/2,y:0}),o!==void 0){let[x]=s.get(o)??[i];s.set(o,[x,i+_])}i+=_}let f=[...r.values()].map(b=>b.filter(g=>e.blockOf(g.guid)===void 0).length),p=Math.max(i,...f,4),h=Math.max(...r.keys(),0),v=p/Zl/(h+1);for(let[b,g]of r){if(b===0)continue;let m=new Map;for(let _ of g){let x=m.get(_.group);x?x.push(_):m.set(_.group,[_])}for(let[_,x]of m){let[T,S]=_!==void 0&&s.get(_)||[0,p];x.forEach((A,E)=>{n.set(A.guid,{x:T+(E+.5)*(S-T)/x.length,y:b*v})})}}let y=Math.min(1,v*.7/l);for(let b of t){let g=n.get(b.guid),m=a.hostsOf.get(b.guid)??[],_=b.level?m.length:Yl(m.length);m.forEach((x,T)=>{let S=T%_,A=b.level?g.y-v*.12:-(v*.25+Math.floor(T/_)*y);n.set(x,{x:g.x+(S-(_-1)/2)*(b.level?.4:1),y:A})})}}function lp(a,n){let e=a.structure,t=e.dimensions.map(d=>d.size),r=t.map((d,c)=>c).sort((d,c)=>t[c]-t[d]),o=1/((t[r[2]??-1]??1)+1),s={x:(t[r[0]]??1)+1,y:(t[r[1]??-1]??1)+1};for(let{guid:d,coordinates:c=[]}of e.switches){let f=b=>c[r[b]??-1]??0,p=f(2),h=f(0)+p*o,v=-f(1)+p*o,y={x:s.x,y:s.y};for(let b=3;b<r.length;b+=1){let g=t[r[b]];b%2===1?(h+=f(b)*y.x,y={...y,x:y.x*(g+.5)}):(v-=f(b)*y.y,y={...y,y:y.y*(g+.5)})}n.set(d,{x:h,y:v})}let l=t.length>2?o*.35:.3;for(let d of a.places.keys())Jl(a,n,d,l,-Math.PI/2,Math.PI/2)}function dp(a,n){let e=a.structure,t=new Map;for(let l of e.switches){let d=t.get(l.group??0);d?d.push(l):t.set(l.group??0,[l])}let r=t.size,i=10,o=Math.min(4,Math.PI*i*.55/Math.max(r,3)),s=0;for(let l of t.values()){let d=2*Math.PI*s/r+Math.PI/2,c={x:Zl*i*Math.cos(d),y:i*Math.sin(d)};[l.filter(p=>!p.level),l.filter(p=>p.level)].forEach((p,h)=>{let v=h===1?o*.45:o;p.forEach((y,b)=>{let g=d+2*Math.PI*b/p.length,m={x:c.x+v*Math.cos(g),y:c.y+v*Math.sin(g)};n.set(y.guid,m),Jl(a,n,y.guid,o*.28,g,Math.PI*.8)})}),s+=1}}function Jl(a,n,e,t,r,i){let o=n.get(e),s=a.hostsOf.get(e)??[];if(!o)return;let l=Math.max(6,Math.ceil(Math.sqrt(s.length)*3));s.forEach((d,c)=>{let f=Math.floor(c/l),p=Math.min(l,s.length-f*l),h=r+(c%l-(p-1)/2)*(i/Math.max(p,2)),v=t*(1+f*.35);n.set(d,{x:o.x+v*Math.cos(h),y:o.y+v*Math.sin(h)})})}function up(a,n){let e=[...n.values()].map(l=>l.x),t=[...n.values()].map(l=>l.y);e.length===0&&(e=[0]),t.length===0&&(t=[0]);let r=e.reduce((l,d)=>Math.min(l,d)),i=t.reduce((l,d)=>Math.min(l,d)),o=Math.max(1,e.reduce((l,d)=>Math.max(l,d))-r)/40,s=0;for(let l of a.nodes.keys()){if(n.has(l))continue;let d=a.neighbours(l).map(c=>n.get(c)).find(c=>c!==void 0);d?n.set(l,{x:d.x+o,y:d.y-o}):(n.set(l,{x:r+s*o,y:i-2*o}),s+=1)}}function ed(a){if(a.length<2)return 1/0;let n=a.reduce((d,{x:c})=>Math.min(d,c),1/0),e=a.reduce((d,{x:c})=>Math.max(d,c),-1/0),t=a.reduce((d,{y:c})=>Math.min(d,c),1/0),r=a.reduce((d,{y:c})=>Math.max(d,c),-1/0),i=Math.max(Math.sqrt((e-n)*(r-t)/a.length),(e-n+r-t)/a.length),o=new Map,s=({x:d,y:c},f=0,p=0)=>`${Math.floor((d-n)/i)+f} ${Math.floor((c-t)/i)+p}`;for(let d of a){let c=o.get(s(d));c?c.push(d):o.set(s(d),[d])}let l=a.map(d=>{let c=2*i;for(let f of[-1,0,1])for(let p of[-1,0,1])for(let h of o.get(s(d,f,p))??[])h!==d&&(c=Math.min(c,Math.hypot(h.x-d.x,h.y-d.y)));return c});return l.sort((d,c)=>d-c),l[Math.floor(l.length/10)]}var cp=24,td=[.5,.9,1.1,1.5],nd=["lost","interrupted","cut-off","at-risk","path","written","found"],Ti={lost:"lost",interrupted:"interrupted, or loses P_Keys","cut-off":"cut off","at-risk":"without redundancy",path:"path",written:"written to",found:"found"};function ad(){let a=getComputedStyle(document.documentElement),n=e=>a.getPropertyValue(`--${e}`).trim();return{text:n("text"),background:n("canvas"),switch:n("switch"),host:n("host"),block:n("block"),link:n("link"),faint:n("faint"),faintNode:n("faint-node"),bad:n("bad"),warn:n("warn"),maintenance:n("maintenance"),path:n("path"),cutOff:n("cut-off"),scale:[0,1,2,3,4].map(e=>n(`scale-${e}`))}}function Si(a,n){let e=new Float64Array(a.links.length);for(let t of n.items){let r=a.linkAt(t.guid,t.port);r!==void 0&&(e[r]=Math.max(e[r],t.routes))}return e}var ja=class{constructor(n,e,t,r,i,o){this.model=n;this.coloring=e;this.load=t;this.troubled=r;this.marks=i;this.colors=o;this.loads=e==="load"&&t?Si(n,t):void 0,this.meanLoad=t&&t.items.length>0?t.total/t.items.length:0;let s=new Map;for(let l of n.links)l.mbps>0&&s.set(l.rate,l.mbps);this.speeds=[...s.keys()].sort((l,d)=>s.get(l)-s.get(d))}model;coloring;load;troubled;marks;colors;loads;meanLoad;speeds;node(n){let{colors:e}=this;if(this.marks){let i=n.nodes.map(l=>this.marks.nodes.get(l)),o=nd.find(l=>i.includes(l)),s=o!==void 0;return{color:s?this.markColor(o):e.faintNode,strength:s?1.3:1,isMarked:s}}let t=n.nodes.map(i=>this.model.nodes.get(i));return t.some(i=>i.state==="absent")?{color:e.bad,strength:1.4}:t.some(i=>this.troubled.has(i.guid))?{color:e.warn,strength:1.3}:{color:n.kind==="switch"?e.switch:n.kind==="host"?e.host:e.block,strength:1}}bundle(n){let{colors:e}=this,t=Math.min(1+Math.log2(n.links.length)*.5,5);if(this.marks){let i=n.links.map(s=>this.marks.links.get(s)),o=nd.find(s=>i.includes(s));return o?{color:this.markColor(o),size:Math.max(3,t),isOnTop:!0}:{color:e.faint,size:.6,isOnTop:!1}}let r=n.links.map(i=>this.model.links[i]);if(this.coloring==="load"){let i=n.links.reduce((s,l)=>Math.max(s,this.loads?.[l]??0),0),o=td.filter(s=>i>=s*this.meanLoad).length;return{color:e.scale[o],size:.8+o*.6,isOnTop:o>2}}if(this.coloring==="speed"){let i=r.reduce((o,s)=>s.mbps>0&&(!o||s.mbps<o.mbps)?s:o,void 0);return i?{color:this.speedColor(i.rate),size:t,isOnTop:!1}:{color:e.bad,size:2,isOnTop:!0}}return r.some(i=>i.maintenance)?{color:e.maintenance,size:t+1.5,isOnTop:!0}:r.some(i=>i.state==="down")?{color:e.bad,size:t+1.5,isOnTop:!0}:r.some(i=>i.state!=="up")?{color:e.warn,size:t+1.5,isOnTop:!0}:{color:e.link,size:t,isOnTop:!1}}scale(n){return this.colors.scale[Math.min(4,Math.floor(n*5))]}speedColor(n){let e=this.speeds.indexOf(n);return this.scale(this.speeds.length<2?.5:e/(this.speeds.length-1))}markColor(n){let{colors:e}=this;switch(n){case"lost":case"interrupted":return e.bad;case"cut-off":return e.cutOff;case"at-risk":return e.warn;case"path":case"written":case"found":return e.path}}namesMarked(){return this.marks!==void 0&&this.marks.nodes.size>0&&this.marks.nodes.size<=cp}legend(){let{colors:n}=this;if(this.marks)return{items:[...new Set([...this.marks.nodes.values(),...this.marks.links.values()])].map(t=>({color:this.markColor(t),text:Ti[t]}))};if(this.coloring==="load"){let e=td.map(r=>Math.ceil(r*this.meanLoad));return{items:n.scale.map((r,i)=>({color:r,text:i===0?`fewer than ${e[0]} routes`:i===4?`${e[3]} routes and more`:`from ${e[i-1]}`})),text:`mean ${Math.round(this.meanLoad)}, busiest link ${this.load?.busiest??0} routes`}}return this.coloring==="speed"?{items:this.speeds.map(e=>({color:this.speedColor(e),text:e}))}:{items:[{color:n.switch,text:"switch"},{color:n.host,text:"host"},{color:n.link,text:"link"},{color:n.bad,text:"down or absent"},{color:n.warn,text:"degraded, or has an alarm"},{color:n.maintenance,text:"in maintenance"}]}}};function rd(a,n){let e=n.nodes.length;if(n.kind==="block")return`${n.label}: ${e} switches, ${n.hosts} hosts`;let t=a.nodes.get(n.nodes[0]),r=n.hosts>0?`, ${n.hosts} hosts`:"";return`${n.label}: ${t.kind==="ca"?"host":t.kind}${t.state==="absent"?", absent":""}${r}`}function id(a,n,e){if(e.links.length===1){let r=a.links[e.links[0]];return`${Me(r)}: ${r.state}${r.rate?`, ${r.rate}`:""}`}let t=r=>n.items.get(r)?.label??r;return`${t(e.a)} – ${t(e.b)}: ${e.links.length} links`}var od=12e3,sd=1.6,hp=9,fp=1.7,gp=.12,Ei=36,pp=2500;function ld(a){let n=vt(null),e=vt(null),t=vt(a),[r,i]=j(""),[o,s]=j("");t.current=a,oe(()=>{let g=n.current,m;try{m=new Vl(new le({multi:!1,type:"undirected"}),g,{primitives:{nodes:{shapes:[jl({cornerRadius:.25}),_n()],layers:[xn()]},edges:{paths:[Tn(),ql()],layers:[je()]}},styles:{nodes:{x:{attribute:"x"},y:{attribute:"y"},size:{attribute:"size"},color:{attribute:"color"},label:{attribute:"label"},shape:{attribute:"shape"},labelColor:{attribute:"text"},labelVisibility:{attribute:"showLabel"},labelSize:12,labelPosition:"above",cursor:"pointer",depth:{whenState:"isHovered",then:"topNodes",else:"nodes"}},edges:{size:{attribute:"size"},color:{attribute:"color"},opacity:{attribute:"opacity"},path:{attribute:"path"},curvature:{attribute:"curvature"},depth:{attribute:"depth"},cursor:"pointer"}},settings:{itemSizesReference:"screen",stagePadding:Ei,labelDensity:.7,labelGridCellSize:110,labelRenderedSizeThreshold:3,minEdgeThickness:.4,enableEdgeEvents:!0,enableCameraRotation:!1,minCameraRatio:.005,maxCameraRatio:3,allowInvalidContainer:!0,zoomToSizeRatioFunction:x=>Math.pow(x,.6)}})}catch(x){s(String(x));return}e.current=m,m.on("clickNode",({node:x})=>t.current.onItem(x)),m.on("clickEdge",({edge:x})=>t.current.onBundle(x)),m.on("clickStage",()=>t.current.onNothing()),m.on("enterNode",({node:x})=>{let T=t.current.view.items.get(x);T&&i(rd(t.current.model,T))}),m.on("enterEdge",({edge:x})=>{let{model:T,view:S}=t.current,A=S.bundles.get(x);A&&i(id(T,S,A))}),m.on("leaveNode",()=>i("")),m.on("leaveEdge",()=>i(""));let _=new ResizeObserver(()=>m.resize());return _.observe(g),()=>{_.disconnect(),m.kill(),e.current=null}},[]);let{view:l,painter:d,selected:c,model:f}=a;oe(()=>{let g=e.current;if(!g)return;let m=new le({multi:!1,type:"undirected"}),_=[...l.items.values()],x=bp(_,g.getDimensions()),T=E=>vp(_.filter(D=>D.kind===E),x),S={switch:T("switch"),host:Math.min(T("host"),T("switch")*.65),block:Math.max(2*sd,fp*T("block"))},A=l.items.size>1500;for(let E of l.items.values()){let{color:D,strength:k,isMarked:P}=d.node(E),R=E.key===c,C={...E.at,size:S[E.kind]*k*(R?1.5:1),color:R?d.colors.path:D,label:E.hosts>0&&E.kind==="switch"?`${E.label} +${E.hosts}`:E.label,shape:E.kind==="host"?"circle":"square",showLabel:mp(R||E.kind==="block"||d.namesMarked()&&P===!0,d.namesMarked()||A&&E.kind==="host"),text:d.colors.text};m.addNode(E.key,C)}for(let E of l.bundles.values()){let{color:D,size:k,isOnTop:P}=d.bundle(E),R=E.key===c,C=yp(f,l,E.a,E.b);m.addEdgeWithKey(E.key,E.a,E.b,{color:R?d.colors.path:D,size:R?4:A&&!P?Math.min(k,.7):k,opacity:P||R?1:Math.max(.06,Math.min(1,pp/l.bundles.size)),path:C?"curved":"straight",curvature:C?gp:0,depth:P||R?"topEdges":"edges"})}g.setSetting("hideEdgesOnMove",l.bundles.size>od),g.setSetting("enableEdgeEvents",l.bundles.size<=od),g.setGraph(m)},[l,d,c]);let{focus:p}=a,h=vt(void 0);oe(()=>{let g=e.current;if(!g||!p||h.current===p)return;h.current=p,g.refresh();let _=[...new Set(p.nodes.flatMap(E=>l.itemOf.get(E)??[]))].flatMap(E=>g.getNodeDisplayData(E)??[]);if(_.length===0){g.getCamera().reset({duration:200});return}let x=_.map(E=>E.x),T=_.map(E=>E.y),S=E=>(Math.min(...E)+Math.max(...E))/2,A=Math.max(Math.max(...x)-Math.min(...x),Math.max(...T)-Math.min(...T));g.getCamera().animate({x:S(x),y:S(T),ratio:Math.min(1,Math.max(.3,A*1.3))},{duration:250})},[p,l]);let v=()=>e.current?.getCamera(),y=(g,m)=>{let _=v();_&&_.animate({x:_.x+g*_.ratio,y:_.y+m*_.ratio},{duration:80})},b=g=>{let _={"+":()=>{v()?.zoomIn({duration:100})},"-":()=>{v()?.zoomOut({duration:100})},0:()=>{v()?.reset({duration:100})},ArrowLeft:()=>y(-.1,0),ArrowRight:()=>y(.1,0),ArrowUp:()=>y(0,.1),ArrowDown:()=>y(0,-.1),Escape:()=>a.onNothing()}[g.key];_&&(g.preventDefault(),_())};return o?u("div",{class:"empty",role:"alert",children:[u("h2",{children:"The drawing needs WebGL 2"}),u("p",{children:["This browser does not offer it (",o,"). The views Nodes and Links show the same as lists."]})]}):u("div",{class:"drawing",children:[u("div",{class:"canvas",ref:n,tabIndex:0,role:"application","aria-label":a.label,"aria-describedby":"drawing-keys",onKeyDown:b}),u("p",{id:"drawing-keys",class:"visually-hidden",children:"Arrow keys move the drawing, plus and minus zoom, 0 shows everything. The views Nodes and Links list what is drawn."}),u("div",{class:"zoom",children:[u("button",{type:"button",title:"Zoom in (+)","aria-label":"Zoom in",onClick:()=>{v()?.zoomIn()},children:"+"}),u("button",{type:"button",title:"Zoom out (-)","aria-label":"Zoom out",onClick:()=>{v()?.zoomOut()},children:"−"}),u("button",{type:"button",title:"Show everything (0)","aria-label":"Show everything",onClick:()=>{v()?.reset()},children:"⤢"})]}),u("div",{class:"hint","aria-hidden":"true",children:r})]})}function mp(a,n){return a?"visible":n?"hidden":"auto"}function vp(a,n){let e=ed(a.map(t=>t.at));return Math.max(sd,Math.min(hp,e*n*.4))}function bp(a,{width:n,height:e}){let t=o=>o.reduce((s,l)=>Math.max(s,l),-1/0)-o.reduce((s,l)=>Math.min(s,l),1/0),r=t(a.map(o=>o.at.x))||1,i=t(a.map(o=>o.at.y))||1;return Math.min((n-2*Ei)/r,(e-2*Ei)/i)}function yp(a,n,e,t){let r=a.structure?.dimensions??[];if(r.length===0)return!1;let i=l=>a.places.get(n.items.get(l).nodes[0])?.coordinates,o=i(e),s=i(t);return!o||!s?!1:r.some(({kind:l,size:d},c)=>l!=="path"&&d>2&&Math.abs(o[c]-s[c])>1)}var ct=240,_p=24*3600*1e3,xp=250;function dd(){let{status:a,at:n}=re(),[e,t]=j(ct),[r,i]=j(0),[o,s]=j(0);oe(()=>{if(n||!a)return;let c=Date.now(),f=a.recorded_since?Date.parse(a.recorded_since):c;i(Math.min(c,Math.max(f,c-_p))),s(c),t(ct)},[a,n]);let l=c=>new Date(Math.ceil(r+(o-r)*c/ct));oe(()=>{if(e===ct){n&&ln(void 0);return}let c=setTimeout(()=>ln(l(e).toISOString()),xp);return()=>clearTimeout(c)},[e]);let d=e===ct?"now":l(e).toLocaleString(void 0,ea);return u("div",{class:"history",children:[u("label",{children:["Time",u("input",{type:"range",disabled:!a?.recorded_since,min:"0",max:ct,value:e,"aria-valuetext":d,onInput:c=>t(Number(c.currentTarget.value))})]}),u("output",{children:d}),e!==ct&&u("button",{type:"button",onClick:()=>t(ct),children:"Now"})]})}function ud({kind:a,target:n,onClose:e,onPlan:t,marked:r}){let i=cn(a==="drain"?"drain":"ports/disable"),[o,s]=j("");oe(()=>{i.preview({target:n}).then(h=>h&&t(h.prediction))},[]);let l=h=>{let v=o?Math.round(Number(o)*3600):void 0;i.send({target:n,for_s:v},h)},{plan:d,done:c,error:f,isBusy:p}=i;return u(un,{title:a==="drain"?`Drain ${n}`:`Disable port ${n}`,onClose:e,children:[u(hn,{change:i}),d&&!c&&r,d&&!c&&u(fn,{verb:a==="drain"?"Drain":"Disable",isBusy:p,onSend:l,onCancel:e,children:u("label",{children:["Hours until it returns by itself; empty: until undone ",u("input",{type:"number",min:"0.1",step:"any",value:o,onInput:h=>s(h.currentTarget.value)})]})}),(c||f&&!d)&&u("div",{class:"actions",children:u("button",{type:"button",onClick:e,children:"Close"})})]})}function cd(){let{health:a,at:n}=re(),[e,t]=j(),r=a?.maintenance??[],i=async o=>{try{t(void 0),await bt(o.kind==="disabled-port"?"ports/enable":"undrain",{},{target:o.name}),Ze()}catch(s){s instanceof ce&&t(s)}};return u("section",{children:[u("h2",{children:"Maintenance"}),e&&u(ue,{error:e}),r.length===0?u("p",{children:["Nothing is out of service. Select a switch or link in the ",u("a",{href:"#/fabric",children:"fabric"})," to drain it."]}):u(Te,{caption:"What is out of service",head:["What","State","Reason","Until",""],rows:r,row:o=>u("tr",{children:[u("td",{children:u("a",{href:`#/fabric?show=${encodeURIComponent(o.name)}`,children:o.name})}),u("td",{children:o.kind==="disabled-port"?"disabled":"drained"}),u("td",{children:o.reason}),u("td",{children:o.until?u(ge,{at:o.until}):"a command ends it"}),u("td",{children:Le()&&!n&&u("button",{type:"button",onClick:()=>{i(o)},children:o.kind==="disabled-port"?"Enable":"Undrain"})})]},o.name)})]})}var wi=200;function hd({model:a,marks:n}){let e=new Map,t=(r,i)=>{let o=e.get(r);o?o.push(i):e.set(r,[i])};for(let[r,i]of n.nodes)t(i,a.name(r));for(let[r,i]of n.links)t(i,Me(a.links[r]));return u("details",{children:[u("summary",{children:["Marked in the drawing: ",n.nodes.size," ",n.nodes.size===1?"node":"nodes",", ",n.links.size," ",n.links.size===1?"link":"links"]}),u("div",{class:"scroll",tabIndex:0,role:"region","aria-label":"Marked in the drawing",children:[...e].map(([r,i])=>u("section",{children:[u("h4",{children:[Ti[r],": ",i.length]}),u("ul",{class:"plain",children:i.slice(0,wi).map(o=>u("li",{children:o},o))}),i.length>wi&&u("p",{children:["and ",i.length-wi," more"]})]},r))})]})}var fd={"lid-changed":"another LID","link-changed":"another MTU or number of VLs","p-key-removed":"loses P_Keys","m-key-changed":"another M_Key","lmc-changed":"another LMC","lid-assigned":"first LID",activated:"becomes Active","p-key-added":"gains P_Keys","sm-lid-changed":"another SM LID",reregistered:"ClientReregister"},Tp=new Set(["lid-changed","link-changed","p-key-removed","m-key-changed","lmc-changed"]),Sp=new Set(["link-changed","activated"]);function Gn(a){return Tp.has(a)}function gd(a){let{compare:n}=new Intl.Collator(void 0,{numeric:!0}),e=({effects:t})=>t.some(Gn)?0:1;return[...a].sort((t,r)=>e(t)-e(r)||n(t.name,r.name))}function Ai(a,n){let e=new Map;for(let t of a.nodes??[])for(let{effect:r,ports:i}of t.effects??[])if(Sp.has(r))for(let o of i.filter(s=>s>0)){let s=n?.linkAt(t.guid,o),l=`${t.guid}/${o}`,d=s===void 0?l:String(s),c=s===void 0?`${t.name||t.guid}/${o}`:Me(n.links[s]),f=e.get(d)??{name:c,target:l,effects:[]};f.effects.includes(r)||f.effects.push(r),e.set(d,f)}return gd(e.values())}function pd(a){let n=(a.nodes??[]).filter(e=>e.kind!=="switch"&&e.effects);return gd(n.map(e=>({name:e.name||e.guid,target:e.guid,effects:e.effects.map(({effect:t})=>t)})))}function md(a){return a.sets.reduce((n,{count:e})=>n+e,0)}function vd(a,n){let e=new Map,t=new Map;for(let r of a.nodes??[]){let i=r.effects??[];e.set(r.guid,i.some(({effect:o})=>Gn(o))?"interrupted":"written")}for(let{target:r,effects:i}of Ai(a,n)){let{link:o}=n.find(r);o!==void 0&&t.set(o,i.some(Gn)?"interrupted":"written")}return{title:"plan",nodes:e,links:t}}var Ep=[["p-key-removal","P_Keys that the configuration does not name"],["lmc-change","LMCs"],["m-key-removal","M_Keys"],["qos-removal","QoS tables"]];function yd(){let{plan:a,planError:n,isPlanning:e}=re(),[t,r]=j([]),i=s=>{r(t.includes(s)?t.filter(l=>l!==s):[...t,s])};return u("section",{children:[u("h2",{children:"Plan of a start"}),u("p",{children:"What this SM would write if it started now, with the configuration in force. The fabric is read; nothing is written."}),u("form",{onSubmit:s=>{s.preventDefault(),Eo(t)},children:[u("fieldset",{children:[u("legend",{children:"With consent to replace what another SM configured"}),Ep.map(([s,l])=>u("label",{class:"filter",children:[u("input",{type:"checkbox",checked:t.includes(s),onChange:()=>i(s)})," ",l]},s))]}),u("p",{children:[u("button",{type:"submit",class:"primary",disabled:e||!Le(),children:a?"Make the plan again":"Make the plan"}),!Le()&&" This needs the role operate."]})]}),u("p",{role:"status",children:e?"Reading the fabric…":""}),n&&u(ue,{error:n}),a&&u(wp,{plan:a,at:a.at})]})}function wp({plan:a,at:n}){let{model:e}=re(),t=Ie(()=>Ai(a,e),[a,e]),r=Ie(()=>pd(a),[a]),i=a.nodes??[];return u(U,{children:[u("p",{children:["As of ",u(ge,{at:n}),". ",e&&u("a",{href:"#/fabric?plan=shown",children:"Show it on the drawing"})]}),u(Ri,{plan:a}),u("h3",{children:"Sets by attribute"}),a.sets.length===0?u("p",{children:"None: the fabric is as this SM would configure it."}):u(Te,{caption:"Sets by attribute",head:["Attribute","Sets"],rows:a.sets,row:({attribute:o,count:s})=>u("tr",{children:[u("td",{children:o}),u("td",{children:s})]},o)}),u("h3",{children:["Links that change: ",t.length]}),t.length>0&&u(bd,{caption:"Links that change",what:"Link",affected:t}),u("h3",{children:["Hosts concerned: ",r.length]}),r.length>0&&u(bd,{caption:"Hosts concerned",what:"Host",affected:r}),u("h3",{children:["Nodes that are written to: ",i.length]}),i.length>0&&u(Te,{caption:"Nodes that are written to",head:["Node","Kind","Sets","By attribute"],rows:i,row:o=>u("tr",{children:[u("td",{children:u("a",{href:_d(o.guid),children:o.name||o.guid})}),u("td",{children:o.kind==="ca"?"host":o.kind}),u("td",{children:md(o)}),u("td",{children:Ap(o.sets)})]},o.guid)})]})}var _d=a=>`#/fabric?show=${encodeURIComponent(a)}`;function Ap(a){return a.map(({attribute:n,count:e})=>`${e} ${n}`).join(", ")}function bd({caption:a,what:n,affected:e}){return u(Te,{caption:a,head:[n,"Changes"],rows:e,row:({name:t,target:r,effects:i})=>u("tr",{children:[u("td",{children:u("a",{href:_d(r),children:t})}),u("td",{children:i.map(o=>u(Rp,{effect:o},o))})]},r)})}function Rp({effect:a}){return u(U,{children:[u(ne,{kind:Gn(a)?"error":"info",children:fd[a]})," "]})}function Ri({plan:a}){let{lids:n,ports:e,tables:t}=a,r=kp(a),i=a.p_keys.filter(({added:o})=>o>0).map(({p_key:o,added:s})=>`${o} added to ${s}`);return u(U,{children:[a.sms.length===0?u("p",{children:"No other SM is in the fabric."}):u("ul",{class:"plain",children:a.sms.map(o=>u("li",{children:[o.state," now: ",o.name||o.guid,", priority ",o.priority,o.reaction&&`; ${o.reaction}`]},o.guid))}),a.awaits_consent&&u("p",{class:"alarm",children:[u(ne,{kind:"warning",children:"waits for consent"})," ",a.awaits_consent,". Until then these settings stay."]}),r.length===0?u("p",{children:[u(ne,{kind:"ok",children:"no alarm"})," no traffic is interrupted by these Sets"]}):u("ul",{class:"plain",children:r.map(o=>u("li",{children:[u(ne,{kind:"error",children:"alarm"})," ",o]},o))}),a.problems.length>0&&u("ul",{class:"plain",children:a.problems.map(o=>u("li",{children:[u(ne,{kind:"warning",children:"problem"})," ",o]},o))}),u("dl",{class:"facts",children:[u("dt",{children:"LIDs"}),u("dd",{children:[n.kept," kept, ",n.assigned," assigned, ",n.changed," changed"]}),u("dt",{children:"P_Keys"}),u("dd",{children:i.join(", ")||"none added"}),u("dt",{children:"Ports"}),u("dd",{children:[e.activated," become Active, ",e.sm_lid_changed," get another SM LID, ",e.reregistered," get ClientReregister"]}),u("dt",{children:"LFTs"}),u("dd",{children:[t.lft_blocks," blocks with ",t.lft_entries," entries, on ",t.switches," switches"]}),u("dt",{children:"Other tables"}),u("dd",{children:[t.mft_blocks," MFT blocks, ",t.sl_to_vl," SLtoVL, ",t.vl_arbitration," VL arbitration"]}),u("dt",{children:"Engine"}),u("dd",{children:a.engine||"no routing found"})]})]})}function kp({lids:a,p_keys:n,ports:e,violations:t=[]}){return[...[[a.changed,"ports get another LID: their connections break"],[e.link_changed,"Active ports get another MTU or number of VLs"],[e.m_key_changed,"ports get another M_Key"],[e.lmc_changed,"ports get another LMC"]].filter(([i])=>i>0).map(([i,o])=>`${i} ${o}`),...n.filter(({removed:i})=>i>0).map(({p_key:i,removed:o})=>`P_Key ${i} removed from ${o} ${o===1?"port":"ports"}`),...t.map(({name:i,text:o})=>`invariant ${i}: ${o}`)]}function Qt(a,n){let e=new Set;for(let t of Dp(n)){let r=Lp(t);for(let i of a.nodes.values()){if(e.size>=5e3)break;r(i.name,i.guid,i.lids)&&e.add(i.guid)}}return[...e]}function Dp(a){return a.split(/,(?![^[]*\])/).map(e=>e.trim()).filter(e=>e!=="")}function Lp(a){let n=a.toLowerCase();if(/^0x[0-9a-f]{5,}$/.test(n)){let t=n.slice(2).padStart(16,"0");return(r,i)=>i.toLowerCase().slice(2).padStart(16,"0")===t}if(/^[0-9]+$/.test(n)){let t=Number(n);return(r,i,o)=>o.includes(t)||r.toLowerCase().includes(n)}let e=Pp(n);if(e)return t=>{let r=t.toLowerCase();return e.has(r)||e.has(r.split(" ")[0])};if(n.includes("*")){let t=new RegExp(`^${n.split("*").map(Cp).join(".*")}$`);return r=>t.test(r.toLowerCase())}return t=>t.toLowerCase().includes(n)}function Cp(a){return a.replace(/[.*+?^${}()|[\]\\]/g,"\\$&")}function Pp(a){if(!/\[[0-9,-]+\]/.test(a))return;let n=[""];for(let e of a.split(/(\[[0-9,-]+\])/)){let t=/^\[(.*)\]$/.exec(e)?.[1],r=t===void 0?[e]:[];for(let i of t?.split(",")??[]){let[o="",s=o]=i.split("-");for(let l=Number(o);l<=Number(s)&&r.length<=1e5;l+=1)r.push(String(l).padStart(o.length,"0"))}if(n.length*r.length>1e5)return;n=n.flatMap(i=>r.map(o=>i+o))}return new Set(n)}var zn="roots",qa=class{constructor(n,e,t){this.model=n;this.detail=e;this.open=t;this.hasGroups=Ka(n);let{structure:r}=n;this.roots=r?.kind==="tree"?r.switches.filter(i=>i.group===void 0).length:0}model;detail;open;hasGroups;roots;blockOf(n){let e=this.model.places.get(n);if(!e||!this.hasGroups)return;let t=e.group!==void 0?`group ${e.group}`:zn;if(!(t===zn&&this.roots<=24))return this.detail==="groups"!==this.open.has(t)?t:void 0}drawsHostsOf(n){return this.detail==="hosts"!==this.open.has(n)}};function Ka(a){return(a.structure?.groups??0)>1}function xd(a){return a.nodes.size<=700?"hosts":[...a.nodes.values()].filter(e=>e.kind==="switch").length<=400||!Ka(a)?"switches":"groups"}function Ya(a){return a.structure?.kind==="tree"?"subtree":"group"}var Td="ferrosm-theme",ki=new Set,Sd=matchMedia("(prefers-color-scheme: dark)");function Za(){let a=localStorage.getItem(Td);return a==="light"||a==="dark"?a:Sd.matches?"dark":"light"}function Di(){document.documentElement.dataset.theme=Za();for(let a of ki)a()}function Ed(){localStorage.setItem(Td,Za()==="dark"?"light":"dark"),Di()}Sd.addEventListener("change",Di);Di();function Qa(){let[a,n]=j(Za());return oe(()=>{let e=()=>n(Za());return ki.add(e),()=>{ki.delete(e)}},[]),a}var Fp=10;function Ip(a){let n=a.map(o=>o.at.y),e=n.every(o=>Math.abs(o-n[0])<1e-6),t=Math.ceil(a.length/Fp);if(!e||t<2)return;let r=a.map(o=>o.at.x),i=(Math.max(...r)-Math.min(...r))/10;a.sort((o,s)=>o.at.x-s.at.x).forEach((o,s)=>{o.at.y-=s%t*i})}function Mp({name:a,guid:n}){return a.replace(/ (mlx[45]_0|HCA-1)$/,"")||n}function wd(a,n,e){let t=new Map,r=new Map,i=(s,l,d,c)=>{let f=t.get(s);f||(f={key:s,kind:l,label:d,nodes:[],hosts:0,at:{x:0,y:0}},t.set(s,f)),f.nodes.push(c),r.set(c,s)};for(let s of a.switches()){let l=e.blockOf(s);if(l!==void 0){let d=l===zn?`${e.roots} roots`:`${Ya(a)} ${a.places.get(s).group}`;i(l,"block",d,s)}else i(s,"switch",a.name(s),s)}for(let s of a.nodes.values()){if(r.has(s.guid))continue;let l=a.homeOf.get(s.guid),d=l===void 0?void 0:r.get(l),c=d===void 0?void 0:t.get(d);c===void 0||c.kind==="switch"&&e.drawsHostsOf(l)?i(s.guid,"host",Mp(s),s.guid):(r.set(s.guid,c.key),c.hosts+=1)}for(let s of t.values())for(let l of s.nodes){let d=n.get(l)??{x:0,y:0};s.at.x+=d.x/s.nodes.length,s.at.y+=d.y/s.nodes.length}Ip([...t.values()].filter(s=>s.kind==="block"&&s.key!==zn));let o=new Map;return a.links.forEach((s,l)=>{let d=[r.get(s.a.guid),r.get(s.b.guid)];if(d[0]===d[1])return;let[c,f]=d.sort(),p=`${c} ${f}`,h=o.get(p);h?h.links.push(l):o.set(p,{key:p,a:c,b:f,links:[l]})}),{items:t,bundles:o,itemOf:r}}function Rd({show:a,find:n,showsPlan:e}){let{model:t,fabricError:r,load:i,alarms:o,plan:s,status:l,at:d}=re(),c=Qa(),[f,p]=j(),[h,v]=j("state"),[y,b]=j(new Set),[g,m]=j(),[_,x]=j({from:"",to:""}),[T,S]=j(),[A,E]=j(),[D,k]=j(),[P,R]=j(),[C,L]=j(),[M,G]=j(),[N,F]=j(),[I,z]=j(!1),X=f??(t?xd(t):"switches"),H=Ie(()=>{if(!t)return;let V=new qa(t,X,y);return wd(t,Ql(t,V),V)},[t,X,y]),Q=Ie(()=>t?Ad(g,t,{path:T,prediction:A,losses:D,plan:s}):void 0,[t,g,T,A,D,s]),K=o.filter(V=>V.state==="active"&&!d&&!V.object.name.includes(" - ")).map(V=>V.object.guid).join(" "),Z=Ie(()=>{if(t)return new ja(t,h,i,new Set(K.split(" ")),Q,ad())},[t,h,i,K,Q,c]),De=Ie(()=>t&&i?Si(t,i):void 0,[t,i]),_e=V=>R({nodes:V}),Re=V=>m({kind:"selection",key:V}),Ve=V=>{if(!H||!t)return;let ie=V.link===void 0?[V.node]:[t.links[V.link].a.guid,t.links[V.link].b.guid],tn=ie.map(Xe=>H.itemOf.get(Xe)).filter(Xe=>Xe!==void 0),kt=tn.filter((Xe,zd)=>Xe!==ie[zd]);if(kt.length>0)b(Xe=>new Set([...Xe,...kt])),V.node!==void 0?Re(V.node):Re(`link ${V.link}`);else{let Xe=[...tn].sort().join(" ");Re(V.link===void 0?tn[0]:H.bundles.get(Xe)?.links.length===1?Xe:`link ${V.link}`)}_e(ie)},Ye={show:Ve,toggle:V=>{let ie=H?.items.get(V);b(tn=>{let kt=new Set(tn);return kt.delete(V)||kt.add(V),kt}),ie?.kind==="block"&&_e(ie.nodes)},whatIf:V=>m({kind:"what-if",without:V}),maintain:(V,ie)=>L({kind:V,target:ie}),limit:(V,ie)=>G({kind:V,target:ie}),pathFrom:V=>x(ie=>({...ie,from:V})),pathTo:V=>x(ie=>({...ie,to:V}))};if(oe(()=>{a&&t&&H&&Ve(t.find(a))},[a,H===void 0]),oe(()=>{n&&m({kind:"found",text:n})},[n]),oe(()=>{e&&m({kind:"start-plan"})},[e]),oe(()=>{let V=g?.kind==="path"&&t&&Ad(g,t,{path:T});V&&_e([...V.nodes.keys()])},[T?.from.guid,T?.to.guid,g?.kind]),r&&!t)return u("div",{class:"empty",children:[u(dn,{}),u(ue,{error:r})]});if(!t||!H||!Z)return u("p",{role:"status",children:"Asking the service…"});if(t.nodes.size===0)return u("div",{class:"empty",children:u(dn,{})});let ht=V=>{!V||!C||(E(V),m({kind:"plan",target:C.target}))},ft=()=>{m(void 0),C&&Ve(t.find(C.target)),L(void 0)},er=async()=>{let V=g?.kind==="path"?{highlight:"path",from:g.from,to:g.to}:{highlight:h==="load"?"load":void 0};try{F(void 0),await uo(V)}catch(ie){ie instanceof ce&&F(ie)}},On=Q&&u(hd,{model:t,marks:Q}),Jt=Z.legend(),en=t.structure?.summary??"structure not known",Wn=Ya(t);return u("div",{class:"fabric",children:[u("h2",{class:"visually-hidden",children:"Fabric"}),u("form",{class:"tools",onSubmit:V=>{V.preventDefault(),_.from&&_.to&&m({kind:"path",..._})},"aria-label":"Drawing",children:[u("label",{children:["Show",u("select",{value:X,onChange:V=>{p(V.currentTarget.value),b(new Set)},children:[Ka(t)&&u("option",{value:"groups",children:[Wn,"s"]}),u("option",{value:"switches",children:"switches"}),u("option",{value:"hosts",children:"switches and hosts"})]})]}),u("label",{children:["Colour",u("select",{value:h,onChange:V=>{let ie=V.currentTarget.value;v(ie),ie==="load"&&So()},children:[u("option",{value:"state",children:"state"}),u("option",{value:"load",children:"load (routes)"}),u("option",{value:"speed",children:"speed"})]})]}),u("span",{class:"pair",onFocusCapture:()=>z(!0),children:[u("label",{children:["Path from ",u("input",{list:"names",value:_.from,onInput:V=>x({..._,from:V.currentTarget.value})})]}),u("label",{children:["to ",u("input",{list:"names",value:_.to,onInput:V=>x({..._,to:V.currentTarget.value})})]}),u("button",{type:"submit",disabled:!_.from||!_.to,children:"Show path"})]}),u("button",{type:"button",disabled:d!==void 0,title:"What each single switch and link would cut off",onClick:()=>m({kind:"single-losses"}),children:"N-1"}),s&&!d&&u("button",{type:"button",title:"What a start would write",onClick:()=>m({kind:"start-plan"}),children:"Plan"}),y.size>0&&u("button",{type:"button",onClick:()=>b(new Set),children:"Collapse all"}),u("button",{type:"button",disabled:d!==void 0,title:"Save the fabric on one page, as it is now",onClick:()=>{er()},children:"Save SVG"}),u("datalist",{id:"names",children:I&&[...t.nodes.values()].filter(V=>V.kind!=="switch").slice(0,2e3).map(V=>u("option",{value:V.name},V.guid))})]}),N&&u(ue,{error:N}),u("div",{class:"with-panel",children:[u(ld,{model:t,view:H,painter:Z,selected:g?.kind==="selection"?g.key:void 0,onItem:V=>{H.items.get(V)?.kind==="block"&&g?.kind==="selection"&&g.key===V&&Ye.toggle(V),Re(V)},onBundle:Re,onNothing:()=>m(void 0),focus:P,label:`Drawing of the fabric, ${en}`}),u("aside",{class:"panel","aria-label":"Details","aria-live":"polite",children:[g&&u("button",{type:"button",class:"close","aria-label":"Close details",onClick:()=>m(void 0),children:"×"}),!g&&u(U,{children:[u("h3",{children:en}),u("p",{children:l?.fabric?`${l.fabric.switches} switches, ${l.fabric.cas} hosts, ${l.fabric.links} links`:""}),u("p",{children:["Select a switch, host or link for details.",X==="groups"&&` Select a ${Wn} twice to open it.`]})]}),g?.kind==="selection"&&u(Gp,{panelKey:g.key,model:t,view:H,routes:De,actions:Ye}),g?.kind==="path"&&u(Po,{from:g.from,to:g.to,onPath:S}),g?.kind==="what-if"&&u(Ro,{without:g.without,name:t.nodes.get(g.without)?.name??g.without,onPrediction:E}),g?.kind==="plan"&&u("p",{children:["The drawing shows what the plan for ",g.target," would do."]}),g?.kind==="start-plan"&&u(U,{children:[u("h3",{children:"Plan of a start"}),s?u(Ri,{plan:s}):u("p",{children:"No plan was made yet."}),u("p",{children:u("a",{href:"#/plan",children:s?"All Sets, links and hosts":"Make one"})})]}),g?.kind==="single-losses"&&u(ko,{onLosses:k,onSelect:V=>m({kind:"what-if",without:V.without})}),g?.kind==="found"&&u(zp,{model:t,text:g.text,actions:Ye}),g?.kind!=="found"&&g?.kind!=="path"&&On]})]}),u("div",{class:"below",children:[u("ul",{class:"legend","aria-label":"Colours",children:[Jt.items.map(({color:V,text:ie})=>u("li",{children:[u(Np,{color:V})," ",ie]},ie)),Jt.text&&u("li",{children:Jt.text})]}),u(dd,{})]}),C&&u(ud,{...C,onClose:ft,onPlan:ht,marked:On}),M&&u(Er,{...M,model:t,onClose:()=>G(void 0)})]})}function Np({color:a}){return u("svg",{class:"swatch",viewBox:"0 0 10 10","aria-hidden":"true",children:u("rect",{width:"10",height:"10",rx:"2",fill:a})})}function Gp({panelKey:a,model:n,view:e,routes:t,actions:r}){let i=e.items.get(a);if(i)return u(Co,{model:n,item:i,actions:r});let o=e.bundles.get(a);if(o)return u(Ar,{model:n,view:e,bundle:o,routes:t,actions:r});let s=/^link ([0-9]+)$/.exec(a)?.[1];return s!==void 0?u(Ar,{model:n,view:e,bundle:{key:"",a:"",b:"",links:[Number(s)]},routes:t,actions:r}):u("p",{children:"This is not drawn now."})}function zp({model:a,text:n,actions:e}){let t=Ie(()=>Qt(a,n),[a,n]);return u(U,{children:[u("h3",{children:t.length===0?`Nothing matches “${n}”`:`${t.length} found`}),t.length===0&&u("p",{children:["Search for a part of a name, a pattern (",u("code",{children:"leaf-*"}),"), a host list (",u("code",{children:"gpu[01-16]"}),"), a GUID or a LID."]}),u("ul",{class:"plain short",children:t.slice(0,200).map(r=>u("li",{children:[u("button",{type:"button",class:"link",onClick:()=>e.show({node:r}),children:a.name(r)})," ",a.nodes.get(r).kind==="switch"?"switch":a.nodes.get(r).location]},r))})]})}function Ad(a,n,e){let t=new Map,r=new Map,i=(o,s)=>{let{node:l,link:d}=n.find(o);l!==void 0&&t.set(l,s),d!==void 0&&r.set(d,s)};if(a?.kind==="path"&&e.path){let{from:o,to:s,hops:l}=e.path;for(let{guid:d,in_port:c,out_port:f}of l){t.set(d,"path");for(let p of[c,f]){let h=n.linkAt(d,p);h!==void 0&&(r.set(h,"path"),t.set(n.otherEnd(h,d),"path"))}}for(let d of[o,s])i(d.name,"path");return{title:"path",nodes:t,links:r}}if((a?.kind==="what-if"||a?.kind==="plan")&&e.prediction){let{lost:o,cut_off:s,switches_cut_off:l,lose_redundancy:d}=e.prediction;for(let c of d.items)i(c.name,"at-risk");for(let c of s.items)i(c.name,"cut-off");for(let c of l)i(c,"cut-off");for(let c of o)i(c,"lost");for(let[c,f]of t)if(f==="lost")for(let p of n.linksOf.get(c)??[])r.set(p,"lost");return{title:"what-if",nodes:t,links:r}}if(a?.kind==="start-plan"&&e.plan)return vd(e.plan,n);if(a?.kind==="single-losses"&&e.losses){for(let o of e.losses)o.cut_off>0&&o.kind!=="host-link"?i(o.without,"cut-off"):o.lose_redundancy>0&&o.kind!=="host-link"&&i(o.without,"at-risk");return{title:"single losses",nodes:t,links:r}}if(a?.kind==="found"){let o=Qt(n,a.text);if(o.length===0)return;for(let s of o)t.set(s,"found");return{title:"found",nodes:t,links:r}}}var Ja=a=>`#/fabric?show=${encodeURIComponent(a)}`;function kd(){let{model:a}=re();return a?u(Op,{model:a}):u("p",{role:"status",children:"No fabric yet."})}function Op({model:a}){let[n,e]=j(""),t=Ie(()=>{let r=n?Qt(a,n):[...a.nodes.keys()],i=new Intl.Collator(void 0,{numeric:!0});return r.sort((o,s)=>i.compare(a.name(o),a.name(s)))},[a,n]);return u("section",{children:[u("h2",{children:"Nodes"}),u("label",{class:"filter",children:["Filter ",u("input",{type:"search",placeholder:"name, leaf-*, gpu[01-16], GUID, LID",value:n,onInput:r=>e(r.currentTarget.value)})]}),u("p",{role:"status",children:[t.length," nodes"]}),u(Te,{caption:"Nodes",head:["Name","Kind","State","LIDs","Location","Ports linked","GUID"],rows:t,row:r=>{let i=a.nodes.get(r);return u("tr",{children:[u("td",{children:u("a",{href:Ja(r),children:i.name||r})}),u("td",{children:i.kind==="ca"?"host":i.kind}),u("td",{children:u(ne,{kind:i.state==="present"?"ok":"error",children:i.state})}),u("td",{children:i.lids.join(", ")}),u("td",{children:i.location}),u("td",{children:[i.ports_linked," of ",i.ports]}),u("td",{children:u("code",{children:r})})]},r)}})]})}function Dd(){let{model:a}=re(),[n,e]=j(!1),[t,r]=j("");if(!a)return u("p",{role:"status",children:"No fabric yet."});let i=t?new Set(Qt(a,t)):void 0,o=a.links.filter(s=>(!n||s.state!=="up"||s.maintenance)&&(!i||i.has(s.a.guid)||i.has(s.b.guid)));return u("section",{children:[u("h2",{children:"Links"}),u("label",{class:"filter",children:["Filter by node ",u("input",{type:"search",value:t,onInput:s=>r(s.currentTarget.value)})]}),u("label",{class:"filter",children:[u("input",{type:"checkbox",checked:n,onChange:s=>e(s.currentTarget.checked)})," only those that are not up"]}),u("p",{role:"status",children:[o.length," links"]}),u(Te,{caption:"Links",head:["Link","State","Rate","Possible","Since","Went down","Note"],rows:o,row:s=>u("tr",{children:[u("td",{children:u("a",{href:Ja(`${s.a.guid}/${s.a.port}`),children:Me(s)})}),u("td",{children:u(gn,{link:s})}),u("td",{children:s.rate||"–"}),u("td",{children:s.possible_rate||"–"}),u("td",{children:s.since?u(ge,{at:s.since}):"–"}),u("td",{children:s.times_down}),u("td",{children:s.note})]},Me(s))})]})}function Ld(){let{answered:a,events:n}=re(),[e,t]=j(0),{answer:r,error:i}=ke("alarms",{limit:1e3},e+(n[0]?.number??0)),[o,s]=j();if(i)return u(ue,{error:i});let l=async d=>{let c=prompt(`Acknowledge alarm ${d.id} (${d.object.name}). Reason, for the audit log:`);if(c!==null)try{s(void 0),await bt(`alarms/${d.id}/ack`,{reason:c}),t(e+1),Ze()}catch(f){f instanceof ce&&s(f)}};return u("section",{children:[u("h2",{children:"Alarms"}),o&&u(ue,{error:o}),r?.items.length===0&&u("p",{children:["No alarm",a?.role!=="master"&&". The master has the alarms of the fabric","."]}),r&&r.items.length>0&&u(Te,{caption:"Alarms",head:["No.","Severity","State","Where","What","Raised","Times",""],rows:r.items,row:d=>u("tr",{class:d.state,children:[u("td",{children:d.id}),u("td",{children:u(ne,{kind:d.severity,children:d.severity})}),u("td",{children:[d.state,d.acknowledged&&` by ${d.acknowledged.by}`]}),u("td",{children:u("a",{href:Ja(d.object.name),children:d.object.name})}),u("td",{children:[d.text,d.cause!==void 0&&` (because of alarm ${d.cause})`]}),u("td",{children:[u(ge,{at:d.raised_at}),d.cleared_at&&u(U,{children:[", cleared ",u(ge,{at:d.cleared_at})]})]}),u("td",{children:d.occurrences}),u("td",{children:d.state==="active"&&Le()&&u("button",{type:"button",onClick:()=>{l(d)},children:"Acknowledge"})})]},d.id)})]})}var Li=["debug","info","warning","error"];function Cd(){let{events:a,isLive:n}=re(),[e,t]=j("info"),r=a.filter(i=>Li.indexOf(i.severity)>=Li.indexOf(e));return u("section",{children:[u("h2",{children:"Events"}),u("label",{class:"filter",children:["At least",u("select",{value:e,onChange:i=>t(i.currentTarget.value),children:Li.slice(1).map(i=>u("option",{children:i},i))})]}),u("p",{role:"status",children:n?"New events appear as they happen.":"Not connected: trying again."}),u(Te,{caption:"Events, the newest first",head:["Time","Severity","What"],rows:r,row:i=>u("tr",{children:[u("td",{children:u(ge,{at:i.at})}),u("td",{children:u(ne,{kind:i.severity,children:i.severity})}),u("td",{children:u(ta,{event:i})})]},i.number)})]})}function Pd(){let{at:a}=re(),{answer:n,error:e}=ke("limits",{at:a}),{answer:t}=ke("sms",{at:a});return u("section",{children:[u("h2",{children:"Limits"}),e&&u(ue,{error:e}),n&&u(Te,{caption:"Limits",head:["Resource","Used","Limit","","Limited by"],rows:n.items,row:r=>u("tr",{children:[u("td",{children:r.resource}),u("td",{children:r.used}),u("td",{children:r.limit}),u("td",{children:u("meter",{min:0,max:r.limit,high:r.limit*.75,value:r.used,"aria-label":`${r.resource}: ${r.used} of ${r.limit}`})}),u("td",{children:r.limited_by||"–"})]},r.resource)}),u(Lo,{}),u("h2",{children:"Subnet managers"}),t&&u(Te,{caption:"Subnet managers",head:["Port","Location","State","Priority"],rows:t.items,row:r=>u("tr",{children:[u("td",{children:[r.port.name||r.port.guid,r.is_self&&" (this one)"]}),u("td",{children:r.port.location}),u("td",{children:r.state}),u("td",{children:r.priority})]},r.port.guid)})]})}function Fd(){let{at:a}=re(),[n,e]=j(),{answer:t,error:r}=ke("partitions",{at:a});return r?u(ue,{error:r}):u("section",{children:[u("h2",{children:"Partitions"}),t&&u(Te,{caption:"Partitions",head:["P_Key","Name","Full members","Limited members","Defined by",""],rows:t.items,row:i=>u("tr",{children:[u("td",{children:u("code",{children:i.number})}),u("td",{children:i.name||"–"}),u("td",{children:i.full}),u("td",{children:i.limited}),u("td",{children:i.added?"a command":i.name?"the configuration":"nothing: ports have the P_Key"}),u("td",{children:u("button",{type:"button","aria-expanded":n===i.number,onClick:()=>e(n===i.number?void 0:i.number),children:"Members"})})]},i.number)}),n&&u(Md,{title:`Members of ${n}`,resource:`partitions/${encodeURIComponent(n)}/members`})]})}function Id(){let[a,n]=j(),{answer:e,error:t}=ke("groups",{limit:1e4});return t?u("section",{children:[u("h2",{children:"Multicast groups"}),u(ue,{error:t})]}):u("section",{children:[u("h2",{children:"Multicast groups"}),e?.items.length===0&&u("p",{children:"No group: hosts create them, with IPoIB for example."}),e&&e.items.length>0&&u(Te,{caption:"Multicast groups",head:["MGID","MLID","P_Key","MTU","Rate","Members","Switches",""],rows:e.items,row:r=>u("tr",{children:[u("td",{children:u("code",{children:r.mgid})}),u("td",{children:r.mlid}),u("td",{children:r.p_key}),u("td",{children:r.mtu}),u("td",{children:[r.rate_gbps," Gb/s"]}),u("td",{children:r.members}),u("td",{children:r.switches}),u("td",{children:u("button",{type:"button","aria-expanded":a===r.mgid,onClick:()=>n(a===r.mgid?void 0:r.mgid),children:"Members"})})]},r.mgid)}),a&&u(Md,{title:`Members of ${a}`,resource:`groups/${encodeURIComponent(a)}/members`})]})}function Md({title:a,resource:n}){let{answer:e,error:t}=ke(n,{limit:1e4});return t?u(ue,{error:t}):e?u(U,{children:[u("h3",{children:a}),u("p",{children:[e.total," members"]}),u(Te,{caption:a,head:["Name","Location","Membership","GUID"],rows:e.items,row:r=>u("tr",{children:[u("td",{children:u("a",{href:Ja(r.name),children:r.name})}),u("td",{children:r.location}),u("td",{children:r.membership??r.join}),u("td",{children:u("code",{children:r.guid})})]},r.guid)})]}):u("p",{role:"status",children:"Asking…"})}function Nd(){let{status:a,health:n,alarms:e,events:t,error:r,model:i,at:o}=re();if(r&&!a)return u(ue,{error:r});if(!a||!n)return u("p",{role:"status",children:"Asking the service…"});let{fabric:s,last_sweep:l}=a,d=e.filter(c=>c.state==="active"&&c.cause===void 0);return u("div",{class:"overview",children:[u("section",{class:`card state ${n.state}`,"aria-labelledby":"health-title",children:[u("h2",{id:"health-title",children:"Health"}),u("p",{class:"big",children:n.state.toUpperCase()}),u("p",{children:n.summary}),n.findings.length>0&&u("ul",{class:"findings",children:n.findings.slice(0,20).map(c=>u("li",{children:[u("span",{class:c.severe?"mark bad":"mark warn","aria-label":c.severe?"severe":"minor",children:c.severe?"!":"~"}),u("a",{href:`#/fabric?show=${encodeURIComponent(c.location)}`,children:c.location}),": ",c.text,c.since&&u(U,{children:[" since ",u(ge,{at:c.since})]})]},`${c.kind} ${c.location}`))}),n.findings.length>20&&u("p",{children:["and ",n.findings.length-20," more: ",u("code",{children:"ferrosm health"})]})]}),u(dn,{}),u("section",{class:"card","aria-labelledby":"size-title",children:[u("h2",{id:"size-title",children:"Fabric"}),s?u("dl",{class:"numbers",children:[u("div",{children:[u("dt",{children:"switches"}),u("dd",{children:s.switches})]}),u("div",{children:[u("dt",{children:"hosts"}),u("dd",{children:s.cas})]}),s.routers>0&&u("div",{children:[u("dt",{children:"routers"}),u("dd",{children:s.routers})]}),u("div",{children:[u("dt",{children:"links"}),u("dd",{children:s.links})]})]}):u("p",{children:"Not discovered yet."}),i?.structure&&u("p",{children:i.structure.summary}),s&&u("p",{children:u("a",{href:"#/fabric",children:"Show it"})})]}),u("section",{class:"card","aria-labelledby":"sm-title",children:[u("h2",{id:"sm-title",children:"Subnet manager"}),u("dl",{class:"facts",children:[u("dt",{children:"Activity"}),u("dd",{"aria-live":"polite",children:o?"–":a.activity}),u("dt",{children:"Port"}),u("dd",{children:a.port?`${a.port.name} (${a.port.location})`:"none"}),u("dt",{children:"Priority"}),u("dd",{children:a.priority}),u("dt",{children:"Role since"}),u("dd",{children:[u(ge,{at:a.role_since})," (",a.role_reason,")"]}),l&&u(U,{children:[u("dt",{children:"Last sweep"}),u("dd",{children:[l.number,", ",l.kind,", ",(l.took_us/1e3).toFixed(0)," ms, ",l.smps," SMPs, at ",u(ge,{at:l.at})]})]}),l&&l.engine!==""&&u(U,{children:[u("dt",{children:"Engine"}),u("dd",{children:l.engine})]}),u("dt",{children:"Version"}),u("dd",{children:["ferrosm ",a.version,", started ",u(ge,{at:a.started_at}),"; ",u("a",{href:"licenses.txt",children:"licences of this page"})]})]})]}),u("section",{class:"card","aria-labelledby":"alarms-title",children:[u("h2",{id:"alarms-title",children:"Alarms"}),d.length===0?u("p",{children:"None."}):u("ul",{class:"plain",children:d.slice(0,8).map(c=>u("li",{children:[u(ne,{kind:c.severity,children:c.severity})," ",c.object.name,": ",c.text]},c.id))}),u("p",{children:u("a",{href:"#/alarms",children:"All alarms"})})]}),u("section",{class:"card wide","aria-labelledby":"events-title",children:[u("h2",{id:"events-title",children:"Last events"}),u("ol",{class:"plain events",children:t.slice(0,8).map(c=>u("li",{children:[u(ge,{at:c.at})," ",u(ne,{kind:c.severity,children:c.severity})," ",u(ta,{event:c})]},c.number))}),u("p",{children:u("a",{href:"#/events",children:"All events"})})]})]})}var Ci=[["overview","Overview"],["fabric","Fabric"],["nodes","Nodes"],["links","Links"],["alarms","Alarms"],["events","Events"],["maintenance","Maintenance"],["plan","Plan"],["partitions","Partitions"],["groups","Groups"],["limits","Limits"]];function Gd(){let[a="",n=""]=location.hash.replace(/^#\/?/,"").split("?"),e=Ci.find(([r])=>r===a)?.[0]??"overview",t=new URLSearchParams(n);return{view:e,show:t.get("show")??void 0,find:t.get("find")??void 0,showsPlan:t.has("plan")}}function Wp(){let[a,n]=j(Gd());return oe(()=>{let e=()=>n(Gd());return addEventListener("hashchange",e),()=>removeEventListener("hashchange",e)},[]),a}function Bp(){let{session:a,loginError:n}=re();return a===void 0&&!n?u("p",{role:"status",children:"…"}):a?u(Up,{}):u("main",{class:"login",children:[u("h1",{children:"ferrosm"}),n&&u(ue,{error:n}),u("h2",{children:"Open this page with a link"}),u("ol",{children:[u("li",{children:["On the host of the service, as root, as the user of the service or as a member of the group ferrosm: ",u("pre",{children:"ferrosm web login"})]}),u("li",{children:"Open the link that it prints. It has your role, and works once, within 5 minutes."}),u("li",{children:["From another computer, first open the tunnel that the command prints: ",u("pre",{children:"ssh -L 7475:127.0.0.1:7475 HOST"})]})]})]})}function Up(){let{status:a,answered:n,health:e,alarms:t,session:r,error:i,isLive:o,at:s,modelAt:l}=re(),{view:d,show:c,find:f,showsPlan:p}=Wp(),h=Qa(),[v,y]=j(""),b=Ci.find(([x])=>x===d)[1];oe(()=>{let x=e?`${e.state}: `:"";document.title=`${x}${b} – ferrosm`},[b,e?.state]);let g=t.filter(x=>x.state==="active"&&x.cause===void 0).length,m=x=>{x.preventDefault(),v.trim()&&(location.hash=`#/fabric?find=${encodeURIComponent(v.trim())}`)},_=async()=>{await ho(),Ao()};return u(U,{children:[u("a",{class:"skip",href:"#main",onClick:x=>{x.preventDefault(),document.getElementById("main")?.focus()},children:"Skip to the content"}),u("header",{children:[u("h1",{children:u("a",{href:"#/overview",children:"ferrosm"})}),e&&u(ne,{kind:e.state,children:e.state}),n&&u("span",{class:"role",children:[n.role,a?.port&&` at ${a.port.name}`]}),a&&!s&&u("span",{class:"activity",title:"What the SM is doing",children:a.activity}),u("form",{role:"search",onSubmit:m,children:[u("input",{type:"search","aria-label":"Search by name, pattern, host list, GUID or LID",placeholder:"Search: name, leaf-*, gpu[01-16], GUID, LID",value:v,onInput:x=>y(x.currentTarget.value)}),u("button",{type:"submit",children:"Search"})]}),u("span",{class:o?"live on":"live",title:o?"Events arrive as they happen":"Not connected: trying again",children:o?"live":"offline"}),u("button",{type:"button",onClick:Ed,children:h==="dark"?"Light":"Dark"}),u("span",{class:"user",children:[r.user,", ",r.role]}),u("button",{type:"button",onClick:()=>{_()},children:"Log out"})]}),u("nav",{"aria-label":"Views",children:Ci.map(([x,T])=>u("a",{href:`#/${x}`,"aria-current":x===d?"page":void 0,children:[T,x==="alarms"&&g>0&&u("span",{class:"count",children:[" ",g]})]},x))}),u("main",{id:"main",tabIndex:-1,children:[i&&u(ue,{error:i}),s&&u("p",{class:"past",role:"status",children:[l===s?"The fabric as of":"Asking for the fabric as of"," ",u(ge,{at:s}),". Alarms, events and groups are those of now. ",u("button",{type:"button",onClick:()=>ln(void 0),children:"Show it now"})]}),d==="overview"&&u(Nd,{}),d==="fabric"&&u(Rd,{show:c,find:f,showsPlan:p}),d==="nodes"&&u(kd,{}),d==="links"&&u(Dd,{}),d==="alarms"&&u(Ld,{}),d==="events"&&u(Cd,{}),d==="maintenance"&&u(cd,{}),d==="plan"&&u(yd,{}),d==="partitions"&&u(Fd,{}),d==="groups"&&u(Id,{}),d==="limits"&&u(Pd,{})]})]})}ji(u(Bp,{}),document.getElementById("app"));wo();})();
/*! Bundled license information:

sigma/dist/edge-data-texture-e4fbbc22.esm.js:
  (*! regenerator-runtime -- Copyright (c) 2014-present, Facebook, Inc. -- license (MIT): https://github.com/babel/babel/blob/main/packages/babel-helpers/LICENSE *)
*/
